/**
 * Deletes old rows once an hour. Each run deletes only a limited number; if more are left, the next run
 * continues without waiting for the hour.
 */
import type { Instant } from '../../domain/time/clock.js'
import { msPerHour } from '../../domain/time/dates.js'

export class HourlyCleanup {
  readonly #deleteSome: (now: Instant) => Promise<boolean>
  #dueAt = Number.NEGATIVE_INFINITY

  /** `deleteSome` returns whether there may be more to delete. */
  constructor(deleteSome: (now: Instant) => Promise<boolean>) {
    this.#deleteSome = deleteSome
  }

  /** Returns whether there may be more to delete. A failure is retried after an hour. */
  async run(now: Instant): Promise<boolean> {
    if (now < this.#dueAt) return false
    this.#dueAt = now + msPerHour
    const hasMore = await this.#deleteSome(now)
    if (hasMore) this.#dueAt = now
    return hasMore
  }
}
