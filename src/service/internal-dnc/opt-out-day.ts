/**
 * Opt-outs of which only the day is known. One is stored as the last millisecond of its day in UTC:
 * a time of day that nobody else has, and the latest that may be meant there.
 */
import type { Instant, LocalDay } from '../../domain/clock.js'

export const msPerDay = 86_400_000

export function endOfDay(day: LocalDay): Instant {
  return (day + 1) * msPerDay - 1
}

/** The day of an opt-out of which only that is known; `undefined` for any other instant. */
export function dayKnownAlone(at: Instant): LocalDay | undefined {
  return at % msPerDay === msPerDay - 1 ? Math.floor(at / msPerDay) : undefined
}
