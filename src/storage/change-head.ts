/**
 * The one row that orders changes: a sequence that goes up by one with each, and the newest instant
 * at which anything was stored. The order does not depend on clocks, and a clock that is behind that
 * instant is detected.
 */
import { sql } from 'kysely'
import { type Author, mainAccountId } from '../domain/caller.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { type Clock, type Instant, monotonicClock, type Timers } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { recordAudit } from './audit/audit-log.js'
import type { ChangeFeed, EngineTraits, OpenDatabase, ThreadDatabase } from './open-database.js'
import type { Db } from './tables.js'

/** What a write stores with its rows. */
export interface ChangeStamp {
  /** Greater than that of every change committed before. */
  readonly seq: number
  /** By the machine's clock, or that of a shared database if the machine's is wrong. */
  readonly storedAt: Instant
  /** How far `storedAt` is behind the newest instant stored so far; 0 if the clock is right. */
  readonly clockLagMs: number
}

/** Of which numbers of an account something changes; any of them, if they are not given. */
export interface Change {
  readonly accountId: string
  readonly numbers?: readonly PhoneNumber[]
}

/** Dropping more of them one by one would take other servers longer than asking again. */
const maxNamedNumbers = 10_000

/** By comma; null if there are too many of them. */
export function nameNumbers(numbers: readonly PhoneNumber[]): string | null {
  return numbers.length <= maxNamedNumbers ? numbers.join(',') : null
}

function toColumns({ accountId, numbers }: Change) {
  const named = numbers ? nameNumbers(numbers) : null
  return { account_id: accountId, numbers: named, all_numbers: named === null ? 1 : 0 }
}

/**
 * A clock this far behind is still trusted: NTP sets it back by fractions of a second, and moving a
 * virtual machine by about a second.
 */
const maxClockLagMs = 2_000

/** The newest instant is written back when memory is this far ahead of the row. */
const writeBackAfterMs = 5_000

export class ChangeHead {
  readonly #db: Db
  readonly #traits: EngineTraits
  readonly #feed: Pick<ChangeFeed, 'getClockAheadMs'> | undefined
  readonly #clock: Clock
  /** Includes the decisions of this process; the row may be up to five seconds older. */
  #newestAt: Instant = 0
  /** In the row, when it was last read or written. */
  #writtenAt: Instant = 0
  #acceptances = 0

  /** The clock is the machine's, even if accounts have a fixed one. */
  constructor(
    {
      db,
      traits,
      feed,
    }: Pick<ThreadDatabase, 'db' | 'traits'> & Partial<Pick<OpenDatabase, 'feed'>>,
    clock: Clock,
  ) {
    this.#db = db
    this.#traits = traits
    this.#feed = feed
    this.#clock = clock
  }

  /**
   * Takes the next number. Must be called in the transaction that stores the change, after its reads.
   * The row stays locked until the commit, so numbers are in the order of the commits, and a
   * transaction that fails leaves no gap. Other servers drop what they have cached about the numbers of the change.
   */
  async takeNext(transaction: Db, change: Change): Promise<ChangeStamp> {
    const before = this.#clock.now()
    const row = await transaction
      .updateTable('change_head')
      .set({ seq: sql`seq + 1`, newest_at: this.#atLeast(before) })
      .where('id', '=', 1)
      .returning(['seq', 'newest_at', 'acceptances'])
      .$if(this.#traits.isShared, (query) => query.returning(databaseNow.as('databaseNow')))
      .executeTakeFirstOrThrow()
    this.#follow(row)
    const storedAt = correctInstant(before, this.#clock.now(), row.databaseNow)
    if (this.#traits.isShared) {
      const values = { seq: row.seq, at: storedAt, ...toColumns(change) }
      await transaction
        .insertInto('changes')
        .values(values)
        .returning(['seq', 'account_id as accountId', 'numbers', 'at'])
        .execute()
    }
    return { seq: row.seq, storedAt, clockLagMs: Math.max(0, this.#newestAt - before) }
  }

  /** Number of the latest committed change. */
  async readLatest(): Promise<number> {
    const head = this.#db.selectFrom('change_head').select('seq').where('id', '=', 1)
    return (await head.executeTakeFirstOrThrow()).seq
  }

  /** To be called with the instant of everything stored, such as a decision. */
  observe(at: Instant): void {
    if ((this.#feed?.getClockAheadMs?.(at) ?? 0) > maxClockLagMs) return
    this.#newestAt = Math.max(this.#newestAt, at)
  }

  /** The newest instant at which anything was stored, as far as this process knows. */
  get newestAt(): Instant {
    return this.#newestAt
  }

  /**
   * For what expires: does not go back with the machine's clock or by a restart, but only when an
   * operator accepts the clock.
   */
  createExpiryClock(timers: Pick<Timers, 'monotonicMs'>): Clock {
    const latest = { now: () => Math.max(this.#clock.now(), this.#newestAt) }
    let acceptances = this.#acceptances
    let steady = monotonicClock(latest, timers)
    return {
      now: () => {
        if (acceptances !== this.#acceptances) steady = monotonicClock(latest, timers)
        acceptances = this.#acceptances
        return steady.now()
      },
    }
  }

  /**
   * How far the clock, which shows `now`, is behind {@link newestAt} or the clock of a shared database if that is more than
   * two seconds, otherwise 0. Negative if it is ahead of that of the database.
   */
  getLagMs(now = this.#clock.now()): number {
    const aheadMs = this.#feed?.getClockAheadMs?.(now) ?? 0
    if (aheadMs > maxClockLagMs) return -aheadMs
    const ms = Math.max(this.#newestAt - now, -aheadMs)
    return ms > maxClockLagMs ? ms : 0
  }

  /**
   * Reads what other processes stored, and writes back what this one observed. To be called at the
   * start and about every second.
   */
  async refresh(): Promise<void> {
    const row = await this.#db
      .selectFrom('change_head')
      .select(['newest_at', 'acceptances'])
      .where('id', '=', 1)
      .executeTakeFirstOrThrow()
    this.#follow(row)
    this.#writtenAt = row.newest_at
    if (this.#newestAt - row.newest_at >= writeBackAfterMs) await this.writeBack()
  }

  #follow(row: { readonly newest_at: Instant; readonly acceptances: number }): void {
    if (row.acceptances === this.#acceptances) this.observe(row.newest_at)
    else this.#newestAt = row.newest_at
    this.#acceptances = row.acceptances
  }

  /** Stores the newest instant that this process observed; to be called before the end as well. */
  async writeBack(): Promise<void> {
    if (this.#newestAt <= this.#writtenAt) return
    this.#writtenAt = this.#newestAt
    await this.#db
      .updateTable('change_head')
      .set({ newest_at: this.#atLeast(this.#newestAt) })
      .where('id', '=', 1)
      .execute()
  }

  /**
   * For an operator who confirms that the clock is right now, and that rows of a later instant were
   * stored by a clock that was ahead. Later opt-outs of real accounts get the current instant, the
   * latest they can have. Running servers follow within a second. Returns how many opt-outs that were.
   */
  async acceptClock(author: Author): Promise<number> {
    const now = this.#clock.now()
    return await this.#db.transaction().execute(async (transaction) => {
      await transaction
        .updateTable('change_head')
        .set({ newest_at: this.#bound(now), acceptances: sql`acceptances + 1` })
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
      await recordAudit(transaction, {
        by: author,
        accountId: mainAccountId,
        action: 'clock.accepted',
        subject: { kind: 'clock', id: '' },
        before: { newestAt: formatInstant(this.#newestAt) },
        after: { optOutsRedated: Number(numUpdatedRows) },
        at: now,
      })
      return Number(numUpdatedRows)
    })
  }

  #atLeast(at: Instant) {
    const bound = this.#bound(at)
    return sql<number>`case when newest_at < ${bound} then ${bound} else newest_at end`
  }

  /** A server whose clock is ahead must not make the others block. */
  #bound(at: Instant) {
    if (!this.#traits.isShared) return sql<number>`${at}`
    return sql<number>`least(cast(${at} as bigint), ${databaseNow})`
  }
}

/** Of PostgreSQL, in milliseconds. */
const databaseNow = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`

/** Of a clock that showed `before` when the database was asked for its time, and `after` when it had answered. */
function correctInstant(before: Instant, after: Instant, database: Instant | undefined): Instant {
  if (database === undefined) return before
  const isAhead = before - database > maxClockLagMs
  const isBehind = database - after > maxClockLagMs
  return isAhead || isBehind ? database : before
}
