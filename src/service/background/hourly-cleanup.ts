/** Deletes what is old, once an hour; while there is more, with each run, so that no run is long. */
import type { Instant } from '../../domain/time/clock.js'
import { msPerHour } from '../../domain/time/dates.js'

export class HourlyCleanup {
  readonly #deleteSome: (now: Instant) => Promise<boolean>
  #dueAt = Number.NEGATIVE_INFINITY

  /** `deleteSome` gives whether there may be more. */
  constructor(deleteSome: (now: Instant) => Promise<boolean>) {
    this.#deleteSome = deleteSome
  }

  /** Gives whether there may be more. What fails is tried again in an hour. */
  async run(now: Instant): Promise<boolean> {
    if (now < this.#dueAt) return false
    this.#dueAt = now + msPerHour
    const hasMore = await this.#deleteSome(now)
    if (hasMore) this.#dueAt = now
    return hasMore
  }
}
