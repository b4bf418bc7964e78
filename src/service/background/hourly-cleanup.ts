/**
 * Deletes old rows once an hour. Each run deletes only a limited number; if more are left, the next run
 * continues without waiting for the hour.
 */
import type { MaybePromise } from '../../domain/compliance.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerHour } from '../../domain/time/dates.js'

/** What day it is apart from the clock; `undefined` while that is not known, and nothing is deleted. */
export type FindToday = () => MaybePromise<Instant | undefined>

export class HourlyCleanup {
  readonly #findToday: FindToday
  readonly #deleteSome: (now: Instant) => Promise<boolean>
  #ranAt = Number.NEGATIVE_INFINITY

  /** `deleteSome` returns whether there may be more to delete. It gets a time that a clock which is ahead does not change. */
  constructor(findToday: FindToday, deleteSome: (now: Instant) => Promise<boolean>) {
    this.#findToday = findToday
    this.#deleteSome = deleteSome
  }

  /** Returns whether there may be more to delete. A failure is retried after an hour. */
  async run(now: Instant): Promise<boolean> {
    // A clock that was ahead must not put it off for years.
    if (Math.abs(now - this.#ranAt) < msPerHour) return false
    this.#ranAt = now
    const today = await this.#findToday()
    const hasMore = today !== undefined && (await this.#deleteSome(Math.min(now, today)))
    if (hasMore) this.#ranAt = Number.NEGATIVE_INFINITY
    return hasMore
  }
}
