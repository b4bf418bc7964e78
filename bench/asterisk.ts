/**
 * The cost that a gate adds to a call: milliseconds from the caller's INVITE to the INVITE at the trunk,
 * and processor time, with a real Asterisk between SIPp as caller and SIPp as trunk. The ways to the
 * trunk are measured in turns.
 */
import { msToTrunk, quantile } from '../test/e2e/asterisk/lab/latency.js'
import { type CallsReport, placeCalls } from '../test/e2e/asterisk/lab/sipp-caller.js'
import { startTrunk } from '../test/e2e/asterisk/lab/sipp-trunk.js'
import { until } from '../test/e2e/asterisk/lab/until.js'
import { type Lane, type Lanes, openLanes } from './asterisk-lanes.js'
import { figure, printTable, range, spreadOf } from './rounds.js'

const rounds = 3
/** Calls per second, and the duration in seconds. */
const loads = [
  // Of fewer calls, p99 would be that of one.
  { rate: 20, seconds: 15 },
  { rate: 100, seconds: 5 },
  { rate: 200, seconds: 5 },
] as const
type Load = (typeof loads)[number]
/** Enough for Node to compile the code of a call, and for callgate to cache all numbers. */
const warmUp = { rate: 200, seconds: 6 } as const

/** The trunk refuses each call as busy, so that calls are short and cost no other work. */
const trunkAnswers = 486

interface Cell {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
  /** Milliseconds of processor time per call. */
  readonly asteriskMs: number
  readonly appMs: number
}

export async function benchAsterisk(): Promise<void> {
  const lanes = await openLanes()
  try {
    const { plain, shortest, trivial, stasis, trivialPlain, stasisPlain, curl } = lanes
    const all = [plain, shortest, trivial, stasis, trivialPlain, stasisPlain, curl]
    process.stdout.write(about(lanes))
    for (const lane of all) {
      progress(`warming up: ${lane.name}`)
      await measure(lane, warmUp, lanes.numbers)
    }
    const cells = new Map(all.map((lane) => [lane, loads.map((): Cell[] => [])]))
    for (let round = 1; round <= rounds; round += 1) {
      for (const [index, load] of loads.entries()) {
        for (const lane of all) {
          progress(`round ${round} of ${rounds}, ${load.rate} calls/s: ${lane.name}`)
          cells.get(lane)?.[index]?.push(await measure(lane, load, lanes.numbers))
        }
      }
    }
    loads.forEach((load, index) => {
      const of = (lane: Lane) => cells.get(lane)?.[index] ?? []
      const measured = (lane: Lane): Measured => [lane, of(lane)]
      printLoad(load, all.map(measured))
      printRatios(
        [
          [stasis, trivial] as const,
          [stasisPlain, trivialPlain] as const,
          [curl, trivial] as const,
        ].flatMap(([lane, allowing]) => [
          { row: measured(lane), to: measured(allowing), of: 'p50Ms' },
          { row: measured(lane), to: measured(allowing), of: 'p99Ms', aim: 1.5 },
          { row: measured(lane), to: measured(shortest), of: 'asteriskMs', aim: 1.15 },
        ]),
      )
    })
  } finally {
    await lanes.close()
  }
}

function about({ numbers }: Lanes): string {
  return (
    `  ${numbers.length} numbers, all allowed; the trunk refuses with ${trunkAnswers}; rounds of ` +
    `${loads.map(({ rate, seconds }) => `${rate * seconds}`).join(', ')} calls\n` +
    '  plain dialplan: Dial() and Hangup()\n' +
    '  always-allow: an application on ari-client that sets decision, number and id in one request,\n' +
    '    lets the call go on in another, and does nothing else; in a dialplan of eleven steps that\n' +
    '    fails closed, and in the recipe gate.conf, which also takes facts along, normalises\n' +
    '    numbers, lets emergency codes pass and sends the decision id to the trunk\n' +
    '  no header: gate.conf with an empty CALLGATE_ID_HEADER\n' +
    '  callgate, gate.conf: each call judged, on record before it goes on, and watched at the trunk\n' +
    '  callgate, gate-curl.conf: each call judged and on record before it goes on\n'
  )
}

async function measure(
  lane: Lane,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
  numbers: readonly string[],
): Promise<Cell> {
  const { server, context, idHeader = 'X-Callgate-Id' } = lane
  await server.ari('POST', '/asterisk/variable', {
    variable: 'CALLGATE_ID_HEADER',
    value: idHeader,
  })
  const behaviour = { does: 'reject', status: trunkAnswers } as const
  const trunk = await startTrunk({ server, behaviour })
  const before = { asterisk: server.cpuSeconds(), app: lane.appSeconds() }
  const total = Math.round(rate * seconds)
  const report = await placeCalls({ server, context, numbers, total, rate })
  const used = {
    asterisk: server.cpuSeconds() - before.asterisk,
    app: lane.appSeconds() - before.app,
  }
  await until('no channel is left', async () => (await server.channels()) === 0)
  const latencies = msToTrunk(report.calls, trunk.arrived())
  await trunk.close()
  return {
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    failed: failedOf(report, total),
    asteriskMs: (used.asterisk * 1000) / total,
    appMs: (used.app * 1000) / total,
  }
}

/** Calls that did not get the trunk's answer. */
function failedOf({ calls }: CallsReport, total: number): number {
  return total - calls.filter(({ status }) => status === trunkAnswers).length
}

type Measured = readonly [lane: Lane, cells: readonly Cell[]]

function printLoad({ rate }: Load, rows: readonly Measured[]): void {
  const spread = `min .. max of ${rounds}`
  const head = [`${rate} calls/s`, 'p50 ms', spread, 'p99 ms', spread, 'failed']
  printTable(
    [...head, 'CPU ms a call: Asterisk', 'beside it'],
    rows.map(([{ name }, cells]) => {
      const p50 = spreadOf(cells.map((cell) => cell.p50Ms))
      const p99 = spreadOf(cells.map((cell) => cell.p99Ms))
      const median = (of: (cell: Cell) => number) => figure(spreadOf(cells.map(of)).median)
      return [
        name,
        figure(p50.median),
        range(p50),
        figure(p99.median),
        range(p99),
        String(cells.reduce((sum, { failed }) => sum + failed, 0)),
        median((cell) => cell.asteriskMs),
        median((cell) => cell.appMs),
      ]
    }),
  )
}

const figures = { p50Ms: 'p50', p99Ms: 'p99', asteriskMs: "Asterisk's CPU a call" } as const

interface Ratio {
  readonly row: Measured
  readonly to: Measured
  readonly of: keyof typeof figures
  /** The largest ratio that is wanted. */
  readonly aim?: number
}

function printRatios(ratios: readonly Ratio[]): void {
  const rows = ratios.map(({ row: [{ name }, cells], to: [other, otherCells], of, aim }) => {
    const ratio = spreadOf(
      cells.map((cell, round) => cell[of] / (otherCells[round]?.[of] ?? Number.NaN)),
    )
    const what = `${figures[of]}: ${name} to ${other.name}`
    return [what, figure(ratio.median), range(ratio), aim ? `aim: at most ${aim}` : '']
  })
  printTable(['ratio, round by round', 'median', `min .. max of ${rounds}`, ''], rows)
}

function progress(text: string): void {
  process.stderr.write(`asterisk: ${text}\n`)
}
