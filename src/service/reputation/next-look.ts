/** When a number is looked at next (spec, states "Monitored number": within 24 hours). */
import type { Instant } from '../../domain/clock.js'

export interface LookTiming {
  readonly checkEveryMs: number
  /** From 0 up to, not including, 1: spreads what must not happen at once. */
  readonly random: () => number
}

const hourMs = 3_600_000
const longestRetryMs = 900_000

/** After a complete look: somewhat early, so that a late round still comes within the interval. */
export function afterComplete({ checkEveryMs, random }: LookTiming): number {
  return Math.floor(checkEveryMs * (0.85 + 0.1 * random()))
}

/**
 * After a look at which some source was silent: in an hour, and then each time after as long as it
 * has been silent already, so that a source that never speaks is not asked for ever and ever.
 */
export function afterSilence(
  { checkEveryMs }: LookTiming,
  { at, since }: { readonly at: Instant; readonly since: Instant },
): number {
  return Math.min(Math.max(at - since, hourMs), checkEveryMs)
}

/** After a look that failed altogether. */
export function afterFailure({ checkEveryMs }: LookTiming): number {
  return Math.min(longestRetryMs, checkEveryMs)
}
