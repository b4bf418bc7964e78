/** The same calls through several gates in virtual time, and what was decided of them as counts. */
import type { Decision } from '../../src/domain/decision.js'
import { numbersOfNewYork, type RemoteGate, seededRandom } from './remote-gate.js'
import type { VirtualTime } from './virtual-time.js'
import type { VendorFacts } from './virtual-vendor.js'

/** Nine in the morning in New York, a Monday. */
export const replayFrom = '2026-11-23T14:00:00Z'
export const callsPerSecond = 1

const numbers = numbersOfNewYork(200)
const onInternalList = numbers.slice(0, 2)
const litigators = numbers.slice(2, 4)

/** What the vendor knows of the numbers that are called; the others are clean. */
export const replayFacts: Readonly<Record<string, VendorFacts>> = Object.fromEntries([
  ...onInternalList.map((number) => [number, { onList: true }] as const),
  ...litigators.map((number) => [number, { litigator: true }] as const),
])

export const knownNo: ReadonlySet<string> = new Set(Object.keys(replayFacts))

export interface Decided {
  /** When it was asked, since the replay began. */
  readonly atMs: number
  readonly waitedMs: number
  readonly number: string
  readonly decision: Decision
}

/** Puts the same calls through all gates for that long, and gives what each decides. */
export async function replay<Name extends string>(
  time: VirtualTime,
  gates: ReadonlyMap<Name, RemoteGate>,
  lastsMs: number,
): Promise<ReadonlyMap<Name, readonly Decided[]>> {
  const everyMs = 1_000 / callsPerSecond
  const calls = callList(lastsMs / everyMs)
  const decided = new Map<Name, Decided[]>([...gates.keys()].map((name) => [name, []]))
  let next = 0
  const call = () => {
    const number = calls[next] ?? ''
    next += 1
    if (next < calls.length) time.after(everyMs, call)
    const atMs = time.monotonicMs()
    for (const [name, gate] of gates) {
      void gate.decide(number).then((decision) => {
        decided.get(name)?.push({ atMs, waitedMs: time.monotonicMs() - atMs, number, decision })
      })
    }
  }
  call()
  await time.advance(lastsMs + 10_000)
  return decided
}

/** Every number once, and again in another order each time round. */
function callList(count: number): readonly string[] {
  const random = seededRandom(11)
  const calls: string[] = []
  while (calls.length < count) {
    const round = numbers.map((number) => ({ number, place: random() }))
    round.sort((one, other) => one.place - other.place)
    calls.push(...round.map(({ number }) => number))
  }
  return calls.slice(0, count)
}

/** Minutes since some instant, from the first up to the last. */
export interface Phase {
  readonly phase: string
  readonly from: number
  readonly until: number
}

export type Tally = ReadonlyMap<string, ReadonlyMap<string, number>>

/** Outcomes by phase: `allow`, `allow: stale-allowed`, `block: litigator`. */
export function tallyOf(
  decided: readonly Decided[],
  phases: readonly Phase[],
  sinceMs: number,
): Tally {
  const counts = new Map<string, Map<string, number>>(phases.map(({ phase }) => [phase, new Map()]))
  for (const { atMs, decision } of decided) {
    const minutes = (atMs - sinceMs) / 60_000
    const found = phases.find(({ from, until }) => minutes >= from && minutes < until)
    const row = counts.get(found?.phase ?? '')
    const outcome = outcomeOf(decision)
    row?.set(outcome, (row.get(outcome) ?? 0) + 1)
  }
  return counts
}

function outcomeOf({ decision, effects, reason }: Decision): string {
  if (decision === 'block') return `block: ${reason}`
  const kinds = [...new Set(effects.map(({ effect }) => effect))]
  return ['allow', ...kinds.sort()].join(': ')
}

/** Such as `before: 3528 allow, 36 block: litigator`. */
export function linesOf(tally: Tally): readonly string[] {
  return [...tally].map(([phase, row]) => {
    const sorted = [...row].sort(([one], [other]) => (one < other ? -1 : 1))
    return `${phase}: ${sorted.map(([outcome, count]) => `${count} ${outcome}`).join(', ')}`
  })
}

export function printTally(title: string, tally: Tally): void {
  console.log(title)
  console.table(
    Object.fromEntries([...tally].map(([phase, row]) => [phase, Object.fromEntries(row)])),
  )
}
