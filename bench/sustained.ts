/**
 * 200 decisions a second over HTTP for minutes, and a program that appends a record of the same size to a
 * file on the same disk and flushes it, at the same rate; and that as a bare HTTP server, with the same
 * requests. They take turns of half a minute, so that none slows down another; the servers keep running.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAreaCodes } from '../src/law/area-codes.js'
import { startDiskWriter } from './disk-writers.js'
import type { HoldReading } from './holds-probe.js'
import { sizeOfAllow, startEcho } from './http.js'
import {
  type LoadOrder,
  type LoadRequest,
  type LoadResult,
  latenciesOf,
  quantileOf,
  startLoad,
} from './load.js'
import { readMemoryMb } from './machine.js'
import { seededRandom } from './random.js'
import { figure, printTable } from './rounds.js'
import { type Serving, serveCallgate, startIdleProbe } from './serving.js'

const perSecond = 200
const full = { seconds: 420, turnSeconds: 30 }
const quick = { seconds: 20, turnSeconds: 5 }
const deadlineMs = 250
/** Of the sandbox, allowed for manual calls. */
const allowedLines = [
  '0100',
  '0101',
  '0102',
  '0106',
  '0107',
  '0108',
  '0109',
  '0110',
  '0112',
  '0114',
]
const repeated = 24
/** A line is asked again after longer than that, so that its answer is no longer in the cache. */
const cachedMs = 15_000

export async function benchSustained({ small }: { readonly small: boolean }): Promise<void> {
  const { seconds, turnSeconds } = small ? quick : full
  const probe = join(import.meta.dirname, 'holds-probe.js')
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const writer = startDiskWriter()
  const load = startLoad()
  const idle = startIdleProbe(probe)
  const serving = await serveCallgate(
    {
      CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z',
      CALLGATE_GATE_CACHE_ALLOW_MS: String(cachedMs),
    },
    { probe },
  )
  const opened: (() => void)[] = []
  try {
    const recordBytes = frameBytes(await sizeOfAllow(serving))
    const echo = await startEcho('flushing', recordBytes, folder)
    opened.push(() => echo.child.disconnect())
    const append = { path: join(folder, 'records'), recordBytes, perSecond }
    const calls = generateCalls()
    const order = (count: number) => orderOf(serving, calls, count)
    const echoOrder = (count: number): LoadOrder => ({
      ...orderOf({ ...serving, url: echo.url }, calls, count),
      expected: { echo: { text: '"echo"' } },
    })
    for (const warmUp of [order, echoOrder]) await load.run(warmUp(Math.min(5, turnSeconds)))
    await writer.append({ ...append, seconds: 1 })
    const memory = [readMemoryMb(serving.pid)]
    for (const { ask } of [serving, idle]) await ask('reset')
    const results: LoadResult[] = []
    const echoes: LoadResult[] = []
    const appends: Float64Array[] = []
    for (let done = 0; done < seconds; done += turnSeconds) {
      results.push(await load.run(order(turnSeconds)))
      echoes.push(await load.run(echoOrder(turnSeconds)))
      appends.push(await writer.append({ ...append, seconds: turnSeconds }))
    }
    memory.push(readMemoryMb(serving.pid))
    const holds = [await serving.ask('read'), await idle.ask('read')] as HoldReading[]
    print({ results, echoes, appends, holds, memory, recordBytes })
  } finally {
    for (const close of opened) close()
    await serving.end()
    await idle.end()
    load.end()
    writer.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In the journal, where a frame has 42 bytes more than its JSON and a multiple of 8. */
const frameBytes = (jsonBytes: number) => Math.ceil((jsonBytes + 42) / 8) * 8

/**
 * Of eight calls, five are allowed: three to lines that are called all the time, two to lines that were
 * not called for a while. Three are blocked: one to a line that is called all the time, two to numbers
 * that are called for the first time.
 */
function* generateCalls(): Generator<LoadRequest> {
  const areaCodes = listAreaCodes()
  const below = seededRandom(15)
  const lines = allowedLines.flatMap((line) => areaCodes.map((areaCode) => `${areaCode}555${line}`))
  const often = () => `${areaCodes[below(repeated)]}555`
  for (let index = 0, next = 0; ; index += 1) {
    const kind = index % 8
    let number = `${often()}0100`
    if (kind === 1 || kind === 5) number = lines[next++ % lines.length] ?? number
    else if (kind === 3) number = `${often()}0103`
    else if (kind >= 6) {
      number = `${areaCodes[below(areaCodes.length)]}${2_000_000 + below(3_550_000)}`
    }
    yield {
      method: 'POST',
      path: '/v1/decisions',
      body: JSON.stringify({ number, callKind: 'manual' }),
    }
  }
}

function orderOf(
  { url, sandboxKey }: Serving,
  calls: Generator<LoadRequest>,
  seconds: number,
): LoadOrder {
  const requests = Array.from({ length: seconds * perSecond }, () => calls.next().value)
  return {
    url,
    requests,
    headers: { loginId: sandboxKey },
    connections: 16,
    seconds,
    perSecond,
    expected: {
      'not-recorded': { text: '"reason":"not-recorded"' },
      overloaded: { text: '"reason":"overloaded"' },
      allow: { text: '"decision":"allow"' },
      block: { text: '"decision":"block"' },
    },
  }
}

interface Findings {
  readonly results: readonly LoadResult[]
  /** Of the HTTP server that appends and flushes. */
  readonly echoes: readonly LoadResult[]
  readonly appends: readonly Float64Array[]
  /** Of the server, of an idle process. */
  readonly holds: readonly HoldReading[]
  /** At the start, at the end. */
  readonly memory: readonly number[]
  readonly recordBytes: number
}

function print({ results, echoes, appends, holds, memory, recordBytes }: Findings): void {
  const bare = Float64Array.from(appends.flatMap((ms) => [...ms])).sort()
  const allows = latenciesOf(results, 'allow')
  const row = (name: string, ms: Float64Array, aim: string) => {
    const shares = [0.5, 0.99, 0.999, 1].map((share) => figure(quantileOf(ms, share)))
    return [name, String(ms.length), ...shares, aim]
  }
  printTable(
    [`${perSecond} a second`, 'count', 'p50 ms', 'p99 ms', 'p99.9 ms', 'slowest', ''],
    [
      row(`bare append and flush of ${recordBytes} bytes`, bare, ''),
      row('the same by a bare HTTP server', latenciesOf(echoes), ''),
      row('allows', allows, 'aim: p99 at most 1.5 times that of a bare append'),
      row('blocks', latenciesOf(results, 'block'), 'aim: p99 below 5'),
    ],
  )
  const countOf = (name: string) => latenciesOf(results, name).length
  const late = latenciesOf(results).filter((ms) => ms > deadlineMs)
  const sum = (of: (result: LoadResult) => number) =>
    results.reduce((total, result) => total + of(result), 0)
  const [server, idle] = holds
  const p99 = quantileOf(allows, 0.99) / quantileOf(bare, 0.99)
  const httpP99 = quantileOf(latenciesOf(echoes), 0.99)
  printTable(
    ['', '', 'aim'],
    [
      ['p99 of allows to that of a bare append', figure(p99), 'at most 1.5'],
      ['to that of the HTTP server', figure(quantileOf(allows, 0.99) / httpP99), ''],
      [
        'longest hold of the event loop, ms, GC aside',
        figure(server?.longestBesideGcMs ?? 0),
        '10',
      ],
      ['the same with GC', figure(server?.longestMs ?? 0), ''],
      ['the same of an idle process', figure(idle?.longestMs ?? 0), ''],
      [`answers after ${deadlineMs} ms`, String(late.length), '0'],
      ['allows withheld: not on record in time', String(countOf('not-recorded')), ''],
      ['allows withheld: late', String(countOf('overloaded')), ''],
      ['other answers, no answer', `${sum((one) => one.wrong)}, ${sum((one) => one.cut)}`, '0'],
      [
        'longest delay of a request by the load, ms',
        figure(Math.max(...results.map((one) => one.latestMs))),
        '',
      ],
      ['memory at the start, at the end, MB', memory.map(figure).join(', '), ''],
    ],
  )
}
