/** A decision's deadline counts from the arrival of its request, also while the event loop is held. */
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

let server: TestCallgate

beforeAll(async () => {
  server = await openTestCallgate({ environment: { CALLGATE_GATE_DEADLINE_MS: '250' } })
})

afterAll(() => server.end())

/** Holds the event loop, as a long piece of work does. */
function hold(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

function requestText(key: string, reference = 'one'): string {
  const body = JSON.stringify({ number: '2125550106', callKind: 'ai', reference })
  const head = `POST /v1/decisions HTTP/1.1\r\nHost: x\r\nloginId: ${key}\r\n`
  const type = 'Content-Type: application/json'
  return `${head}${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const predialText = (key: string, number = '2125550106') =>
  `GET /v1/predial?number=${number}&kind=ai HTTP/1.1\r\nHost: x\r\nloginId: ${key}\r\n\r\n`

interface Client {
  readonly socket: Socket
  /** Everything received so far. */
  text(): string
  answers(count: number): Promise<string>
}

async function openClient(): Promise<Client> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes.toString()
  })
  const answered = () => text.split('HTTP/1.1 ').length - 1
  return {
    socket,
    text: () => text,
    async answers(count) {
      await until(`${count} answers`, () => answered() >= count)
      return text
    },
  }
}

describe('a request that arrives while the loop is held', () => {
  it.each([
    ['a decision', (key: string) => requestText(key), '"overloaded"'],
    ['a pre-dial line', (key: string) => predialText(key), 'block:overloaded:'],
  ])('%s is overloaded after the deadline, and allowed before it', async (_name, text, late) => {
    const client = await openClient()
    client.socket.write(text(server.keys.sandbox))
    await client.answers(1)
    client.socket.write(text(server.keys.sandbox))
    hold(300)
    expect(await client.answers(2)).toContain(late)
    await new Promise((resolve) => setTimeout(resolve, 50))
    client.socket.write(text(server.keys.sandbox))
    expect((await client.answers(3)).split('HTTP/1.1 ').at(-1)).toContain('allow')
    client.socket.destroy()
  })

  it('counts also on a connection that is accepted only afterwards', async () => {
    const { hostname, port } = new URL(server.url)
    const flag = new Int32Array(new SharedArrayBuffer(4))
    const script = `
      const { parentPort, workerData } = require('node:worker_threads')
      const { port, hostname, text, flag } = workerData
      parentPort.once('message', () => {
        const socket = require('node:net').connect(port, hostname, () => {
          socket.write(text, () => { Atomics.store(flag, 0, 1) })
        })
        let answer = ''
        socket.on('data', (bytes) => {
          answer += bytes
          if (answer.includes('"reason"')) { parentPort.postMessage(answer); socket.destroy() }
        })
      })`
    const text = requestText(server.keys.sandbox)
    const workerData = { port: Number(port), hostname, text, flag }
    const worker = new Worker(script, { eval: true, workerData })
    await new Promise((resolve) => worker.once('online', resolve))
    const answer = new Promise<string>((resolve) => worker.once('message', resolve))
    worker.postMessage('go')
    const giveUpAt = performance.now() + 20_000
    while (Atomics.load(flag, 0) === 0 && performance.now() < giveUpAt);
    hold(300)
    expect(await answer).toContain('"overloaded"')
    await worker.terminate()
  })

  it('an emergency code passes all the same', async () => {
    const client = await openClient()
    client.socket.write(predialText(server.keys.sandbox, '911'))
    hold(400)
    expect(await client.answers(1)).toContain('allow:911:')
    client.socket.destroy()
  })
})

it('no allow leaves late through random stalls of the loop', async () => {
  let seed = 20_261_122
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  const gate = server.callgate.gate
  const sentAt = new Map<string, number>()
  const lateness: number[] = []
  const judge = gate.judge.bind(gate)
  gate.judge = async (call, arrivedAtMs) => {
    const deliver = await judge(call, arrivedAtMs)
    return (isDelayed) => {
      // What the machine does to this process after that, no gate can know.
      const afterMs = performance.now() - (sentAt.get(call.reference ?? '') ?? 0)
      const decision = deliver(isDelayed)
      if (decision.decision === 'allow') lateness.push(afterMs)
      return decision
    }
  }
  const clients = await Promise.all(Array.from({ length: 4 }, openClient))
  const rounds = 40
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, { socket }] of clients.entries()) {
      if (random() < 0.4) hold(random() * 120)
      const reference = `${round}-${index}`
      socket.write(requestText(server.keys.sandbox, reference))
      // It has arrived at the latest now.
      sentAt.set(reference, performance.now())
    }
    if (random() < 0.5) hold(random() * 320)
    if (random() < 0.3) setImmediate(() => hold(random() * 200))
    await Promise.all(clients.map((client) => client.answers(round)))
  }
  for (const { socket } of clients) socket.destroy()
  const requests = 4 * rounds
  const allows = lateness.length
  process.stdout.write(`stalled loop: seed 20261122, ${requests} requests, ${allows} allows\n`)
  expect(Math.max(...lateness)).toBeLessThan(250)
  expect(allows).toBeGreaterThan(requests / 20)
  expect(allows).toBeLessThan(requests)
})
