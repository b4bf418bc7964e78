/** When a number is checked next (spec, states "Monitored number": within 24 hours). */
import type { Instant } from '../../domain/time/clock.js'
import { msPerHour } from '../../domain/time/dates.js'

export interface CheckTiming {
  readonly checkEveryMs: number
  /** From 0 up to, not including, 1: spreads the checks. */
  readonly random: () => number
}

const maxRetryMs = 900_000

/** After a complete check: somewhat early, so that a late round is still within the interval. */
export function delayAfterComplete({ checkEveryMs, random }: CheckTiming): number {
  return Math.floor(checkEveryMs * (0.85 + 0.1 * random()))
}

/**
 * After a check that some source did not answer: an hour at first, then as long as the source has been
 * failing, so that a source that never answers is asked less and less often.
 */
export function delayAfterIncomplete(
  { checkEveryMs }: CheckTiming,
  { at, since }: { readonly at: Instant; readonly since: Instant },
): number {
  return Math.min(Math.max(at - since, msPerHour), checkEveryMs)
}

/** After a check that failed completely. */
export function delayAfterFailure({ checkEveryMs }: CheckTiming): number {
  return Math.min(maxRetryMs, checkEveryMs)
}
