/**
 * Decisions under attack: 100 a second, together with anonymous connections that send the most expensive
 * data and one client that sends whole batches. Attack and decisions are sent by separate processes.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listAreaCodes } from '../src/law/area-codes.js'
import { type Attack, type PayloadName, payloadNames } from './hostile-senders.js'
import {
  type Load,
  type LoadOrder,
  type LoadRequest,
  latenciesOf,
  quantileOf,
  startLoad,
} from './load.js'
import { figure, printTable } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'

const perSecond = 100
const hostileConnections = 8
const deadlineMs = 250
const aimMs = 300
/** Beside the attack with one bulk client. */
const p99AimMs = 25
const healthAimMs = 100
/** Numbers in each request of the batch client. */
const batch = 10_000

interface Attacked {
  readonly name: string
  readonly hostile: number
  readonly bulk: boolean
  /** The attack that the hostile connections use; all attacks in turn when absent. */
  readonly payload?: PayloadName
}

const loads: readonly Attacked[] = [
  { name: 'nothing else', hostile: 0, bulk: false },
  { name: `${hostileConnections} hostile`, hostile: hostileConnections, bulk: false },
  { name: 'one bulk client', hostile: 0, bulk: true },
  { name: `${hostileConnections} hostile, one bulk`, hostile: hostileConnections, bulk: true },
  { name: '500 hostile, one bulk', hostile: 500, bulk: true },
]
/** Only in the long form. */
const singleLoads: readonly Attacked[] = payloadNames.map((payload) => ({
  name: `60 hostile: ${payload}`,
  hostile: 60,
  bulk: false,
  payload,
}))

export async function benchHostile({ small }: { readonly small: boolean }): Promise<void> {
  const serving = await serveCallgate({ CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' })
  const generator = startLoad()
  try {
    await generator.run(orderOf(serving, 2))
    const rows: (readonly string[])[] = []
    for (const load of small ? loads : [...loads, ...singleLoads]) {
      rows.push(await measure(serving, load, generator, small ? 5 : 20))
    }
    const head = [
      `${perSecond} decisions a second beside`,
      'answers',
      'allows',
      'cut',
      'p50 ms',
      `p99 ms (aim: ${p99AimMs})`,
    ]
    printTable(
      [
        ...head,
        `slowest (aim: ${aimMs})`,
        `allows after ${deadlineMs} ms`,
        `health (aim: ${healthAimMs})`,
      ],
      rows,
    )
  } finally {
    generator.end()
    await serving.end()
  }
}

async function measure(
  serving: Serving,
  { name, hostile, bulk, payload }: Attacked,
  generator: Load,
  seconds: number,
): Promise<readonly string[]> {
  const child = hostile > 0 ? fork(join(import.meta.dirname, 'hostile-senders.js')) : undefined
  child?.send({ url: serving.url, connections: hostile, payload } satisfies Attack)
  const end = new AbortController()
  const bulking = bulk ? sendBatches(serving, end.signal) : Promise.resolve()
  const probing = slowestProbe(serving, end.signal)
  const result = await generator.run(orderOf(serving, seconds))
  end.abort()
  await bulking
  child?.disconnect()
  const ms = latenciesOf([result])
  const allows = latenciesOf([result], 'allow')
  const late = allows.filter((one) => one > deadlineMs).length
  const counts = [ms.length + result.wrong, allows.length, result.cut].map(String)
  const times = [0.5, 0.99, 1].map((share) => figure(quantileOf(ms, share)))
  return [name, ...counts, ...times, String(late), `${figure(await probing)} ms`]
}

/** Sent at a fixed rate, whether or not earlier ones have been answered. */
function orderOf({ url, sandboxKey }: Serving, seconds: number): LoadOrder {
  const requests = listAreaCodes().map(
    (areaCode): LoadRequest => ({
      method: 'POST',
      path: '/v1/decisions',
      body: JSON.stringify({ number: `${areaCode}5550106`, callKind: 'ai' }),
    }),
  )
  return {
    url,
    requests,
    headers: { loginId: sandboxKey },
    connections: 8,
    seconds,
    perSecond,
    expected: {
      allow: { text: '"decision":"allow"' },
      block: { text: '"decision":"block"' },
    },
  }
}

async function sendBatches({ url, sandboxKey }: Serving, signal: AbortSignal): Promise<void> {
  const numbers = Array.from({ length: batch }, (_none, index) => 2_125_550_000 + (index % 10_000))
  const body = JSON.stringify({ PhoneList: numbers.join(',') })
  const headers = { loginId: sandboxKey, 'content-type': 'application/json' }
  while (!signal.aborted) {
    const request = { method: 'POST', headers, body, signal }
    const status = await fetch(`${url}/v1.5/Scrub/litigator`, request)
      .then(async (reply) => {
        await reply.arrayBuffer()
        return reply.status
      })
      .catch(() => 0)
    if (status !== 200) await sleep(100)
  }
}

async function slowestProbe({ url }: Serving, signal: AbortSignal): Promise<number> {
  let slowest = 0
  while (!signal.aborted) {
    for (const path of ['/healthz', '/readyz']) {
      const startedAt = performance.now()
      // A closed connection counts with the time it took.
      await fetch(`${url}${path}`)
        .then((reply) => reply.arrayBuffer())
        .catch(() => undefined)
      slowest = Math.max(slowest, performance.now() - startedAt)
    }
    await sleep(50)
  }
  return slowest
}
