/** Compares zones the way a caller would notice: by their offsets over a year, never by name. */
import { getTimeZone } from '../../src/domain/time/time-zones.js'

/** 2026-11-20T00:00:00Z, after the newest change of a zone's law. */
export const yearStart = Date.UTC(2026, 10, 20)

const clocks = new Map<string, string>()

function clockOf(name: string): string {
  let clock = clocks.get(name)
  if (clock === undefined) {
    const rules = getTimeZone(name)
    const at = (step: number) => yearStart + step * 3 * 3_600_000
    clock = Array.from({ length: 365 * 8 }, (_, step) => rules.offset(at(step))).join()
    clocks.set(name, clock)
  }
  return clock
}

export type Verdict = 'right' | 'undecided' | 'wrong'

/** `undecided`: several clocks are possible and the right one is among them. */
export function judge(candidates: readonly string[], expected: string): Verdict {
  const possible = new Set(candidates.map(clockOf))
  if (!possible.has(clockOf(expected))) return 'wrong'
  return possible.size === 1 ? 'right' : 'undecided'
}

export interface Tally {
  right: number
  undecided: number
  wrong: number
  /** Those that are wrong, for the message of a failing test. */
  readonly examples: string[]
}

export function emptyTally(): Tally {
  return { right: 0, undecided: 0, wrong: 0, examples: [] }
}

/** Percent of all that were judged. */
export function share(tally: Tally, verdict: Verdict): number {
  return (100 * tally[verdict]) / (tally.right + tally.undecided + tally.wrong)
}
