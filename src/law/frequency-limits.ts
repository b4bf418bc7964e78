/** Which instants a limit on how often somebody is called counts. */
import type { FrequencyLimit } from '../domain/mandate.js'
import type { Instant } from '../domain/time/clock.js'
import { toInstant, toLocalTime } from '../domain/time/time-zones.js'

/** An attempt counts until, and not at, the instant a period later; of whole days, until the day after the last of them. */
export function findEnd({ periodMs, days }: FrequencyLimit, at: Instant): Instant {
  if (days === undefined) return at + periodMs
  const { day } = toLocalTime(days.zone, at)
  return toInstant(days.zone, day + days.count, 0, 'later')
}

/** Attempts at or before this instant no longer count for a call at `at`. */
export function findLatestNotCounted({ periodMs, days }: FrequencyLimit, at: Instant): Instant {
  if (days === undefined) return at - periodMs
  const { day } = toLocalTime(days.zone, at)
  return toInstant(days.zone, day - days.count + 1, 0, 'earlier') - 1
}
