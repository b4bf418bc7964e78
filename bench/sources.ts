/**
 * The cost of a provider that takes 600 ms: how rarely it is asked, and how long calls wait. Provider
 * and callgate are separate processes; decisions are recorded on disk.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Callgate, openCallgate } from '../src/app/callgate.js'
import { loadSettings } from '../src/config/load.js'
import { questionNames } from '../src/domain/compliance.js'
import type { Clock } from '../src/domain/time/clock.js'
import { parseInstant } from '../src/domain/time/dates.js'
import { describeSaid } from '../src/domain/words/words.js'
import { nodeRuntime } from '../src/runtime/runtime.js'
import { seededRandom } from './random.js'
import { figure, printTable } from './rounds.js'

const latencyMs = 600
const listed = 100_000
const perSecond = 100
const paceSeconds = 75
const vendorLimit = 100
/** A Monday, noon in New York. */
const noon = '2026-11-23T17:00:00Z'
const key = 'key-of-the-benchmark'

export async function benchSources(): Promise<void> {
  const vendor = await startVendor()
  try {
    await askSeldom(vendor)
    await askAtPace(vendor)
    await waitForAnswers(vendor)
  } finally {
    await vendor.end()
  }
}

interface Counts {
  readonly requests: number
  readonly mostInAMinute: number
  readonly byStatus: Readonly<Record<string, number>>
}

interface Vendor {
  readonly url: string
  counts(): Promise<Readonly<Partial<Record<string, Counts>>>>
  reset(): Promise<void>
  end(): Promise<void>
}

async function startVendor(): Promise<Vendor> {
  const main = join(import.meta.dirname, '../src/main.js')
  const options = ['--port', '0', '--login-id', key, '--latency', String(latencyMs), '--at', noon]
  const child = spawn(process.execPath, [main, 'fake-vendor', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await addressOf(child)
  const control = async (path: string, method: string) => {
    const answer = await fetch(`${url}/fake-vendor${path}`, { method })
    return (await answer.json()) as { requests: Partial<Record<string, Counts>> }
  }
  return {
    url,
    counts: async () => (await control('', 'GET')).requests,
    reset: async () => void (await control('/reset', 'POST')),
    async end() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      const url = /listens on (http:\/\/[^;]+);/.exec(output)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('exit', (code) => reject(new Error(`fake-vendor ended with ${code}:\n${output}`)))
  })
}

interface Gated {
  readonly callgate: Callgate
  /** Milliseconds until the decision, which must be an allow. */
  decide(number: string): Promise<number>
  close(): Promise<void>
}

/** A callgate with default settings except for its source; its time is that of the vendor. */
async function openGated(environment: Readonly<Record<string, string>>): Promise<Gated> {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const settings = loadSettings({ environment: { ...environment, CALLGATE_DATA_DIR: dataDir } })
  const begun = performance.now()
  const start = parseInstant(noon) ?? 0
  const clock: Clock = { now: () => start + Math.floor(performance.now() - begun) }
  const callgate = await openCallgate(settings, { ...nodeRuntime, clock, processMetrics: false })
  await callgate.journal.open()
  return {
    callgate,
    async decide(dialed) {
      const asked = performance.now()
      const accountId = environment.CALLGATE_SOURCE_KIND === 'remote' ? 'main' : 'sandbox'
      const call = { accountId, dialed, callKind: 'manual', via: 'http' } as const
      const { decision, reason, findings } = await callgate.gate.decide(call)
      if (decision !== 'allow') {
        const why = findings.map(
          ({ check, verdict, says }) => `${check} ${verdict} ${describeSaid(says)}`,
        )
        throw new Error(`${dialed}: ${reason}; ${why.join('; ')}`)
      }
      return performance.now() - asked
    },
    async close() {
      await callgate.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

function remote(vendor: Vendor): Readonly<Record<string, string>> {
  return {
    CALLGATE_SOURCE_KIND: 'remote',
    CALLGATE_SOURCE_PROVIDER_BASE_URL: vendor.url,
    CALLGATE_SOURCE_PROVIDER_LOGIN_ID: key,
    CALLGATE_GATE_MAX_PENDING: '10000',
  }
}

/** Numbers of New York, which are clean at the vendor. */
const numberAt = (index: number) => String(2_122_000_000 + index)

const numbersFrom = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => numberAt(first + index))

const head = ['requests to the provider', ...questionNames, 'aim']

async function requestRow(name: string, vendor: Vendor, aim: string): Promise<readonly string[]> {
  const counts = await vendor.counts()
  return [name, ...questionNames.map((question) => figure(counts[question]?.requests ?? 0)), aim]
}

/** 1,000 new numbers, all at once; then the same again. */
async function askSeldom(vendor: Vendor): Promise<void> {
  const gated = await openGated(remote(vendor))
  const numbers = numbersFrom(0, 1_000)
  try {
    await vendor.reset()
    await Promise.all(numbers.map((number) => gated.decide(number)))
    const cold = await requestRow('1,000 cold numbers at once', vendor, 'scrub at most 4')
    await vendor.reset()
    for (const number of numbers) await gated.decide(number)
    const warm = await requestRow('1,000 decisions, warm', vendor, 'at most 1 in all')
    printTable(head, [cold, warm])
  } finally {
    await gated.close()
  }
}

/** 100 decisions a second on numbers drawn from a list of 100,000. */
async function askAtPace(vendor: Vendor): Promise<void> {
  const gated = await openGated(remote(vendor))
  const below = seededRandom(1)
  const waits: Promise<number>[] = []
  let blocked = 0
  try {
    await vendor.reset()
    const begun = performance.now()
    for (let call = 0; call < perSecond * paceSeconds; call += 1) {
      const number = numberAt(10_000 + below(listed))
      const late = () => {
        blocked += 1
        return Number.NaN
      }
      waits.push(gated.decide(number).catch(late))
      const aheadMs = ((call + 1) * 1_000) / perSecond - (performance.now() - begun)
      if (aheadMs > 0) await sleep(aheadMs)
    }
    const ms = (await Promise.all(waits)).filter((wait) => !Number.isNaN(wait))
    const counts = await vendor.counts()
    printTable(
      [`${perSecond} decisions a second for ${paceSeconds} s`, ...questionNames, 'aim'],
      [
        [
          'most requests in any minute',
          ...questionNames.map((question) => figure(counts[question]?.mostInAMinute ?? 0)),
          `at most ${vendorLimit}, litigator 1,000`,
        ],
        [
          'requests',
          ...questionNames.map((question) => figure(counts[question]?.requests ?? 0)),
          '',
        ],
      ],
    )
    printTable(
      [`of ${waits.length} decisions on ${listed} numbers`, 'blocked', 'p50 ms', 'p99 ms'],
      [['nearly all cold', figure(blocked), figure(at(ms, 0.5)), figure(at(ms, 0.99))]],
    )
  } finally {
    await gated.close()
  }
}

const rounds = 5
const callsPerRound = 20

/** One call after another, in turns: no provider, a provider's cached answer, a new answer. */
async function waitForAnswers(vendor: Vendor): Promise<void> {
  const embedded = await openGated({})
  const gated = await openGated(remote(vendor))
  let next = 200_000
  const warmed = numberAt(next)
  const bare = await bareRequest(vendor)
  const lanes: readonly (readonly [string, () => Promise<number>])[] = [
    ['one bare scrub request (baseline)', bare],
    ['decision, own service, warm (baseline)', () => embedded.decide('2125550100')],
    ['decision, provider, warm', () => gated.decide(warmed)],
    [
      'decision, provider, cold',
      () => {
        next += 1
        return gated.decide(numberAt(next))
      },
    ],
  ]
  const waits: number[][] = lanes.map(() => [])
  try {
    for (const [, run] of lanes) await run()
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, [, run]] of lanes.entries()) {
        for (let call = 0; call < callsPerRound; call += 1) {
          waits[index]?.push(await run())
          // The provider's burst is a tenth of its minute; beyond that, this would measure the rate limit.
          if (index === lanes.length - 1) await sleep(100)
        }
      }
    }
    const own = waits[1] ?? []
    const added = (lane: readonly number[], share: number) =>
      figure(at(lane, share) - at(own, share))
    printTable(
      [
        `one call after another, provider of ${latencyMs} ms`,
        'p50 ms',
        'p99 ms',
        'added to own service',
      ],
      lanes.map(([name], index) => {
        const lane = waits[index] ?? []
        const shown = [name, figure(at(lane, 0.5)), figure(at(lane, 0.99))]
        return [...shown, index < 2 ? '' : `p50 ${added(lane, 0.5)}, p99 ${added(lane, 0.99)}`]
      }),
    )
  } finally {
    await embedded.close()
    await gated.close()
  }
}

async function bareRequest(vendor: Vendor): Promise<() => Promise<number>> {
  const headers = { loginId: key, 'content-type': 'application/json' }
  const body = JSON.stringify({ phoneList: '2122000000', version: '8', output: 'json' })
  const url = `${vendor.url}/app/main/rpc/scrub`
  return async () => {
    const asked = performance.now()
    await (await fetch(url, { method: 'POST', headers, body })).text()
    return performance.now() - asked
  }
}

function at(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
