/** Counts what the frozen calls have in them. */
import type { Call, Door, Mode, Stratum, Tuple } from './script.js'
import type { Frozen } from './store.js'
import { at } from './tuple.js'

interface OneCall {
  readonly call: Call
  readonly tuple: Tuple
  readonly mode: Mode
  readonly stratum: Stratum
}

function* listCalls(frozen: readonly Frozen[]): Generator<OneCall> {
  for (const { world, result } of frozen) {
    const { mode, stratum } = world
    const calls = world.steps.flatMap((step) =>
      step[0] === 'call' ? [step[1]] : step[0] === 'pair' ? [step[1], step[2]] : [],
    )
    for (const [index, call] of calls.entries()) {
      yield { call, mode, stratum, tuple: result.tuples[index] ?? [] }
    }
  }
}

export interface Tally {
  readonly strata: Counts
  readonly doors: Counts
  readonly reasons: Counts
  /** `check verdict mode kind`. */
  readonly cells: Counts
  /** `check reason`, of the findings that deny. */
  readonly deniers: Counts
  /** `reason + reason`, in the order of the alphabet, of the findings that deny one call. */
  readonly denials: Counts
  readonly repeats: number
  readonly pairs: number
}

export type Counts = ReadonlyMap<string, number>

const isWhole: ReadonlySet<Door> = new Set(['decide', 'permit'])

export function tally(frozen: readonly Frozen[]): Tally {
  const [strata, doors, reasons, cells, deniers, denials] = Array.from(
    { length: 6 },
    () => new Counter(),
  )
  let repeats = 0
  for (const { call, tuple, mode, stratum } of listCalls(frozen)) {
    strata?.add(stratum)
    doors?.add(call.door)
    if (call.idempotencyKey !== undefined) repeats += 1
    for (const reason of reasonsOf(call.door, tuple)) reasons?.add(reason)
    if (!isWhole.has(call.door) || tuple.length <= at.findings) continue
    const findings = tuple[at.findings] as readonly (readonly string[])[]
    const kind = String(call.fields.callKind)
    for (const [check, verdict, reason] of findings) {
      cells?.add(`${check} ${verdict} ${mode} ${kind}`)
      if (verdict === 'deny') deniers?.add(`${check} ${reason}`)
    }
    const denying = [
      ...new Set(
        findings.flatMap(([, verdict, reason = '']) => (verdict === 'deny' ? [reason] : [])),
      ),
    ]
    for (const [index, one] of denying.sort().entries()) {
      for (const other of denying.slice(index + 1)) denials?.add(`${one} + ${other}`)
    }
  }
  const pairs = frozen
    .flatMap(({ world }) => world.steps)
    .filter(([what]) => what === 'pair').length
  const empty = new Counter()
  return {
    strata: (strata ?? empty).counts,
    doors: (doors ?? empty).counts,
    reasons: (reasons ?? empty).counts,
    cells: (cells ?? empty).counts,
    deniers: (deniers ?? empty).counts,
    denials: (denials ?? empty).counts,
    repeats,
    pairs,
  }
}

/** A line says the reason of a block; a preview has one for each row. */
function reasonsOf(door: Door, tuple: Tuple): readonly string[] {
  if (door === 'use') return []
  if (door === 'preview') {
    const rows = (tuple[3] ?? []) as readonly (readonly string[])[]
    return rows.flatMap(([, reason = '']) => [reason])
  }
  const isLine = door === 'predial' && tuple[at.decision] === 'allow'
  return isLine || tuple.length <= at.reason ? [] : [String(tuple[at.reason])]
}

class Counter {
  readonly counts = new Map<string, number>()

  add(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }
}
