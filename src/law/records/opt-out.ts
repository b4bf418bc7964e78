import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../domain/time/dates.js'

/** A number that is or was on a list; `removedAt` is null while it is on it. */
export interface InternalDncEntry {
  readonly addedAt: Instant
  readonly removedAt: Instant | null
  /** The latest opt-out, including one received while the number was already on the list. */
  readonly optedOutAt: Instant
  /**
   * Change sequence number of that opt-out, which ends every record with a lower
   * `EbrRecord.storedSeq`, whatever the dates. With 0, only the dates are compared.
   */
  readonly optedOutSeq: number
  /** `optedOutAt` comes from an import, so the opt-out ends a contact that may be equally recent. */
  readonly optedOutByDate?: boolean | undefined
}

/**
 * How an opt-out with a date but no time of day is stored: as the last millisecond of its UTC day. That is the latest it can have been,
 * and no opt-out with a time uses it.
 */
export function encodeDateOnly(day: LocalDay): Instant {
  return (day + 1) * msPerDay - 1
}

/** The day of an opt-out without a time of day; `undefined` for any other instant. */
export function decodeDateOnly(at: Instant): LocalDay | undefined {
  return at % msPerDay === msPerDay - 1 ? toUtcDay(at) : undefined
}
