/**
 * The one row that orders changes: a sequence that goes up by one with each, and the newest instant
 * at which anything was stored. No clock has a say in the order.
 */
import { sql } from 'kysely'
import type { Clock, Instant } from '../domain/clock.js'
import type { Db } from './tables.js'

/** What a write stores with its rows. */
export interface Change {
  /** Greater than that of every change committed before. */
  readonly seq: number
  /** By the machine's clock. */
  readonly storedAt: Instant
}

export class ChangeHead {
  readonly #clock: Clock

  /** The clock is the machine's, also for accounts that are judged at an instant of their own. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Takes the next number, in the transaction that stores the change and after everything it reads.
   * The row stays locked until the commit, so numbers are in the order of the commits, and a
   * transaction that fails leaves no gap.
   */
  async next(transaction: Db): Promise<Change> {
    const storedAt = this.#clock.now()
    const { seq } = await transaction
      .updateTable('change_head')
      .set({
        seq: sql`seq + 1`,
        newest_at: sql`case when newest_at < ${storedAt} then ${storedAt} else newest_at end`,
      })
      .where('id', '=', 1)
      .returning('seq')
      .executeTakeFirstOrThrow()
    return { seq, storedAt }
  }
}
