/**
 * The one row that orders changes: a sequence that goes up by one with each, and the newest instant
 * at which anything was stored. No clock has a say in the order, and a clock that runs behind that
 * instant is found out.
 */
import { sql } from 'kysely'
import { type Clock, type Instant, steadyClock, type Timers } from '../domain/clock.js'
import type { Db } from './tables.js'

/** What a write stores with its rows. */
export interface Change {
  /** Greater than that of every change committed before. */
  readonly seq: number
  /** By the machine's clock. */
  readonly storedAt: Instant
  /** How far `storedAt` lies behind the newest instant stored so far; 0 for a clock that is right. */
  readonly lateMs: number
}

/**
 * The clock may be this far behind and still be believed: NTP steps it back by fractions of a
 * second, and a virtual machine that is moved by about a second.
 */
const toleranceMs = 2_000

/** The newest instant is written back when memory is this far ahead of the row. */
const writeBackAfterMs = 5_000

export class ChangeHead {
  readonly #db: Db
  readonly #clock: Clock
  /** In this process, which stores decisions too; in the row it is up to five seconds older. */
  #newestAt: Instant = 0
  /** In the row, when it was last read or written. */
  #writtenAt: Instant = 0
  #acceptances = 0

  /** The clock is the machine's, also for accounts that are judged at an instant of their own. */
  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Takes the next number, in the transaction that stores the change and after everything it reads.
   * The row stays locked until the commit, so numbers are in the order of the commits, and a
   * transaction that fails leaves no gap.
   */
  async next(transaction: Db): Promise<Change> {
    const storedAt = this.#clock.now()
    const row = await transaction
      .updateTable('change_head')
      .set({ seq: sql`seq + 1`, newest_at: atLeast(storedAt) })
      .where('id', '=', 1)
      .returning(['seq', 'newest_at'])
      .executeTakeFirstOrThrow()
    this.note(Math.max(storedAt, row.newest_at))
    return { seq: row.seq, storedAt, lateMs: Math.max(0, this.#newestAt - storedAt) }
  }

  /** Number of the latest change that is committed. */
  async latest(): Promise<number> {
    const head = this.#db.selectFrom('change_head').select('seq').where('id', '=', 1)
    return (await head.executeTakeFirstOrThrow()).seq
  }

  /** Something was stored at this instant, such as a decision. */
  note(at: Instant): void {
    this.#newestAt = Math.max(this.#newestAt, at)
  }

  /** The newest instant at which anything was stored, as far as this process knows. */
  get newestAt(): Instant {
    return this.#newestAt
  }

  /**
   * For what expires: goes back neither with the machine's clock nor by a restart, but only when an
   * operator accepts the clock.
   */
  expiryClock(timers: Pick<Timers, 'monotonicMs'>): Clock {
    const latest = { now: () => Math.max(this.#clock.now(), this.#newestAt) }
    let acceptances = this.#acceptances
    let steady = steadyClock(latest, timers)
    return {
      now: () => {
        if (acceptances !== this.#acceptances) steady = steadyClock(latest, timers)
        acceptances = this.#acceptances
        return steady.now()
      },
    }
  }

  /** How far the clock is behind that, when it is more than two seconds; otherwise 0. */
  behindMs(): number {
    const ms = this.#newestAt - this.#clock.now()
    return ms > toleranceMs ? ms : 0
  }

  /**
   * Takes over what other processes stored, and writes back what this one noted. To be called at
   * the start and about every second.
   */
  async refresh(): Promise<void> {
    const row = await this.#db
      .selectFrom('change_head')
      .select(['newest_at', 'acceptances'])
      .where('id', '=', 1)
      .executeTakeFirstOrThrow()
    if (row.acceptances === this.#acceptances) this.note(row.newest_at)
    else this.#newestAt = row.newest_at
    this.#acceptances = row.acceptances
    this.#writtenAt = row.newest_at
    if (this.#newestAt - row.newest_at >= writeBackAfterMs) await this.writeBack()
  }

  /** Stores the newest instant that this process noted; to be called before the end as well. */
  async writeBack(): Promise<void> {
    if (this.#newestAt <= this.#writtenAt) return
    this.#writtenAt = this.#newestAt
    await this.#db
      .updateTable('change_head')
      .set({ newest_at: atLeast(this.#newestAt) })
      .where('id', '=', 1)
      .execute()
  }

  /**
   * An operator says that the clock is right now and rows of a later instant were stored by one that
   * ran ahead. Opt-outs of real accounts that are dated later are dated now, the latest they can be.
   * Running servers follow within a second. Gives how many opt-outs that were.
   */
  async acceptClock(): Promise<number> {
    const now = this.#clock.now()
    return await this.#db.transaction().execute(async (transaction) => {
      await transaction
        .updateTable('change_head')
        .set({ newest_at: now, acceptances: sql`acceptances + 1` })
        .where('id', '=', 1)
        .execute()
      const { numUpdatedRows } = await transaction
        .updateTable('internal_dnc')
        .set({ opted_out_at: now })
        .where('opted_out_at', '>', now)
        .where('account_id', 'in', (real) =>
          real.selectFrom('accounts').select('id').where('kind', '=', 'real'),
        )
        .executeTakeFirst()
      return Number(numUpdatedRows)
    })
  }
}

function atLeast(at: Instant) {
  return sql<number>`case when newest_at < ${at} then ${at} else newest_at end`
}
