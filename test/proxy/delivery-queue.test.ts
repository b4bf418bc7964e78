/** What the gate cannot store is tried again, within bounds, and never lost in silence. */
import { expect, test } from 'vitest'
import { createLogger } from '../../src/observability/log.js'
import { type Delivery, DeliveryQueue } from '../../src/proxy/delivery-queue.js'

function openQueue() {
  const logLines: string[] = []
  const waits: { ms: number; run: () => void }[] = []
  const log = createLogger('debug', { write: (line) => void logLines.push(line) })
  const after = (ms: number, run: () => void) => {
    const wait = { ms, run }
    waits.push(wait)
    return () => void waits.splice(waits.indexOf(wait), 1)
  }
  return { queue: new DeliveryQueue({ timers: { after }, log }), waits, logLines }
}

/** With how often it was sent. */
function failing({ times = Number.POSITIVE_INFINITY, bytes = 1 } = {}) {
  const sent = { count: 0 }
  const delivery: Delivery = {
    what: 'a test',
    details: { mark: 'm-1' },
    bytes,
    send: async () => {
      sent.count += 1
      if (sent.count <= times) throw new Error('no gate')
    },
  }
  return { delivery, sent }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

test('it is sent again with longer pauses, and given up with an error that names it', async () => {
  const { queue, waits, logLines } = openQueue()
  const { delivery, sent } = failing()
  queue.add(delivery)
  await settle()
  const pauses: number[] = []
  for (let wait = waits.shift(); wait; wait = waits.shift()) {
    pauses.push(wait.ms)
    wait.run()
    await settle()
  }
  expect(sent.count).toBe(25)
  expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000))
  expect(logLines).toHaveLength(2)
  expect(logLines[1]).toContain('lost, because the gate did not store it')
  expect(logLines[1]).toContain('m-1')
})

test('it is sent no more once it is stored', async () => {
  const { queue, waits, logLines } = openQueue()
  const { delivery, sent } = failing({ times: 1 })
  queue.add(delivery)
  await settle()
  waits.shift()?.run()
  await settle()
  await queue.close()
  expect([sent.count, waits.length, logLines.length]).toEqual([2, 0, 1])
})

test('closing tries each once more, and names what is lost', async () => {
  const { queue, waits, logLines } = openQueue()
  const [first, second] = [failing({ times: 1 }), failing()]
  queue.add(first.delivery)
  queue.add(second.delivery)
  await settle()
  await queue.close()
  expect([first.sent.count, second.sent.count, waits.length]).toEqual([2, 2, 0])
  expect(logLines.filter((line) => line.includes('lost'))).toHaveLength(1)
})

test('what would fill the memory is not kept, and there is room again afterwards', async () => {
  const { queue, waits, logLines } = openQueue()
  const big = failing({ times: 1, bytes: 40_000_000 })
  queue.add(big.delivery)
  await settle()
  const other = failing({ bytes: 40_000_000 })
  queue.add(other.delivery)
  expect(other.sent.count).toBe(0)
  expect(logLines.at(-1)).toContain('too many deliveries are waiting')
  waits.shift()?.run()
  await settle()
  queue.add(other.delivery)
  expect(other.sent.count).toBe(1)
})
