/**
 * Decisions beside one client that sends scrubs of 10,000 numbers without pause, with a service thread
 * and, as the baseline, without one. Two servers take turns; load and servers are separate processes.
 */
import { decisionsOf, type Target as LoadTarget, type Measured, measure } from './http.js'
import { startLoad } from './load.js'
import { figure, printTable, range, spreadOf } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'

const full = { rounds: 5, seconds: 4 }
const quick = { rounds: 2, seconds: 2 }
const count = 10_000
const areaCodes = ['212', '213', '214', '215', '216', '217', '218', '219', '201', '202']
const numbers = Array.from(
  { length: count },
  (_, index) => `${areaCodes[index % 10]}${2_000_000 + Math.floor(index / 10) * 7}`,
)

interface Target {
  readonly name: string
  readonly serving: Serving
  readonly quiet: Measured[]
  readonly beside: Measured[]
  /** Numbers scrubbed a second, by form. */
  readonly scrubbed: Readonly<Record<'csv' | 'json' | 'beside' | 'twoClients', number[]>>
  /** Processor time of the whole server for 10,000 numbers, in milliseconds. */
  readonly processorMs: Readonly<Record<'csv' | 'json', number[]>>
}

export async function benchBulk({ small }: { readonly small: boolean }): Promise<void> {
  const { rounds, seconds } = small ? quick : full
  const load = startLoad()
  const targets = [await open('one service thread', '1'), await open('none (baseline)', '0')]
  try {
    for (const { serving } of targets) {
      await measure(load, targetOf(serving, seconds))
      for (let warm = 0; warm < 10; warm += 1) await scrub(serving, 'csv')
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const target of targets) {
        const { serving, quiet, beside, scrubbed, processorMs } = target
        quiet.push(await measure(load, targetOf(serving, seconds)))
        const bulk = scrubUntilStopped(serving)
        beside.push(await measure(load, targetOf(serving, seconds)))
        scrubbed.beside.push(await bulk.stop())
        for (const form of ['csv', 'json'] as const) {
          const before = await readProcessorMs(serving)
          scrubbed[form].push(await measureScrubs(serving, form))
          processorMs[form].push(((await readProcessorMs(serving)) - before) / scrubs)
        }
        const both = [measureScrubs(serving, 'csv'), measureScrubs(serving, 'csv')]
        scrubbed.twoClients.push((await Promise.all(both)).reduce((sum, one) => sum + one))
      }
    }
    print(targets)
  } finally {
    for (const { serving } of targets) await serving.end()
    load.end()
  }
}

async function open(name: string, threads: string): Promise<Target> {
  const serving = await serveCallgate({
    CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z',
    CALLGATE_HTTP_SERVICE_THREADS: threads,
    CALLGATE_LIMITS_SCRUB_PER_MINUTE: '0',
    CALLGATE_LIMITS_SCRUB_NUMBERS_PER_MINUTE: '0',
  })
  const scrubbed = { csv: [], json: [], beside: [], twoClients: [] }
  return { name, serving, quiet: [], beside: [], scrubbed, processorMs: { csv: [], json: [] } }
}

function targetOf({ url, sandboxKey, pid }: Serving, seconds: number): LoadTarget {
  const order = { ...decisionsOf(url, sandboxKey, '"decision":"allow"'), seconds }
  return { name: 'decisions', pid, order }
}

async function scrub({ url, sandboxKey }: Serving, output: 'csv' | 'json'): Promise<void> {
  const reply = await fetch(`${url}/app/main/rpc/scrub`, {
    method: 'POST',
    headers: { loginId: sandboxKey, 'content-type': 'application/json' },
    body: JSON.stringify({ phoneList: numbers.join(','), version: 8, output }),
  })
  await reply.arrayBuffer()
  if (reply.status !== 200) throw new Error(`scrub: ${reply.status}`)
}

const scrubs = 8

async function measureScrubs(serving: Serving, output: 'csv' | 'json'): Promise<number> {
  const startedAt = performance.now()
  for (let sent = 0; sent < scrubs; sent += 1) await scrub(serving, output)
  return (scrubs * count * 1_000) / (performance.now() - startedAt)
}

async function readProcessorMs({ url }: Serving): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (.*)$/m.exec(metrics)?.[1]) * 1_000
}

/** `stop` resolves to the numbers a second. */
export function scrubUntilStopped(serving: Serving): { stop(): Promise<number> } {
  let isStopped = false
  const startedAt = performance.now()
  const sending = (async () => {
    let sent = 0
    for (; !isStopped; sent += 1) await scrub(serving, 'csv')
    return (sent * count * 1_000) / (performance.now() - startedAt)
  })()
  return {
    stop() {
      isStopped = true
      return sending
    },
  }
}

function print(targets: readonly Target[]): void {
  const medianOf = (values: readonly number[]) => figure(spreadOf(values).median)
  const rows = targets.map(({ name, quiet, beside }) => {
    const ratios = beside.map((one, round) => one.perSecond / (quiet[round]?.perSecond ?? 0))
    return [
      name,
      medianOf(quiet.map(({ perSecond }) => perSecond)),
      medianOf(beside.map(({ perSecond }) => perSecond)),
      `${medianOf(ratios)} (${range(spreadOf(ratios))})`,
      medianOf(quiet.map(({ p50Ms }) => p50Ms)),
      medianOf(beside.map(({ p50Ms }) => p50Ms)),
      medianOf(quiet.map(({ p99Ms }) => p99Ms)),
      medianOf(beside.map(({ p99Ms }) => p99Ms)),
      range(spreadOf(beside.map(({ p99Ms }) => p99Ms))),
    ]
  })
  printTable(
    [
      ...['service threads', 'quiet/s', 'beside/s', 'ratio', 'p50 quiet', 'p50 beside'],
      ...['p99 quiet', 'p99 beside', 'min .. max'],
    ],
    rows,
  )
  const scrubRows = targets.map(({ name, scrubbed }) => [
    name,
    ...(['csv', 'json', 'twoClients', 'beside'] as const).map(
      (form) => `${medianOf(scrubbed[form])} (${range(spreadOf(scrubbed[form]))})`,
    ),
  ])
  printTable(
    [
      ...['numbers scrubbed a second (aim: 100,000)', 'CSV alone', 'JSON alone'],
      ...['CSV, two clients', 'CSV beside'],
    ],
    scrubRows,
  )
  const processorRows = targets.map(({ name, processorMs: { csv, json } }) => [
    name,
    medianOf(csv),
    medianOf(json),
  ])
  printTable(['processor ms per 10,000', 'CSV', 'JSON'], processorRows)
}
