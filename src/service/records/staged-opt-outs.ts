/** Opt-outs of an import: put aside as they are read, compared with the list, and stored at once. */
import { type RawBuilder, sql } from 'kysely'
import type { OptOutRow } from '../../data/feeds/record-rows.js'
import type { Instant } from '../../domain/clock.js'
import type { Db } from '../../storage/tables.js'
import { findAccount } from '../accounts/account-rows.js'
import { touchList } from '../internal-dnc/internal-dnc-rows.js'
import { endOfDay, msPerDay } from '../internal-dnc/opt-out-day.js'
import type { Owner, OwnerWrite } from '../sql/rows-by-number.js'
import {
  judgedIn,
  type Outcomes,
  RowInserts,
  type StagedRecords,
  type StageOptions,
} from './staging.js'

/** For people, in the order they are told. */
const outcomes = {
  added: 'put on the list',
  back: 'put on the list again',
  later: 'on the list already, with an earlier opt-out',
  unchanged: 'on the list already',
  removed: 'left off: taken off the list since',
} as const

export class StagedOptOuts implements StagedRecords<OptOutRow> {
  readonly outcomes: Outcomes = outcomes
  readonly stores = ['added', 'back', 'later', 'removed']
  readonly #options: StageOptions
  readonly #db: Db
  readonly #inserts: RowInserts

  constructor(options: StageOptions) {
    this.#options = options
    this.#db = options.storage.db
    this.#inserts = new RowInserts(options.storage, insertOf)
  }

  async open(): Promise<void> {
    await this.close()
    await sql`create temporary table import_rows (number text not null,
      said_at bigint not null, undated integer not null)`.execute(this.#db)
    await sql`create temporary table import_opt_outs (number text primary key,
      said_at bigint not null, undated integer not null)`.execute(this.#db)
    await sql`create temporary table import_judged (number text primary key,
      outcome text not null)`.execute(this.#db)
  }

  async put(rows: readonly OptOutRow[]): Promise<void> {
    await this.#inserts.insert(rows.map((row) => this.#valuesOf(row)))
  }

  /** None is later than its import. One without a date is of the import. */
  #valuesOf({ number, saidOn }: OptOutRow) {
    const { now } = this.#options
    const said: Instant = saidOn === undefined ? now : (saidOn.at ?? endOfDay(saidOn.day))
    return [number, Math.min(said, now), saidOn === undefined ? 1 : 0]
  }

  /** Of several opt-outs of one number the latest counts. */
  async sort(): Promise<void> {
    const latest = latestOf(sql`max(said_at)`, sql`max(${lastMomentOf(sql`said_at`)})`)
    await sql`insert into import_opt_outs (number, said_at, undated)
      select number, ${latest}, max(undated) from import_rows
      group by number order by number`.execute(this.#db)
  }

  /** A repeated add of an account that ignores it changes nothing; a row with a date is none. */
  async judge(db: Db, { accountId, projectCode }: Owner): Promise<ReadonlyMap<string, number>> {
    const account = await findAccount(db, accountId)
    const repeated = account?.repeatedAdd === 'ignored' ? 'unchanged' : 'later'
    await sql`delete from import_judged`.execute(db)
    await sql`insert into import_judged (number, outcome)
      select said.number, case
        when entry.number is null then 'added'
        when entry.removed_at <= ${lastMomentOf(sql`said.said_at`)} then 'back'
        when entry.removed_at is not null then 'removed'
        when said.undated = 1 then ${repeated}
        when ${laterOf(sql`said.said_at`, sql`entry.opted_out_at`)} > entry.opted_out_at then 'later'
        else 'unchanged' end
      from import_opt_outs as said left join internal_dnc as entry
        on entry.account_id = ${accountId} and entry.list = ${projectCode}
          and entry.number = said.number`.execute(db)
    return await judgedIn(db)
  }

  /**
   * One with a date has the number 0: dates alone count between it and a consent. One without is
   * ordered by when it is stored, like any other. An entry that was taken off since stays off, and
   * still ends the records that are older than the opt-out.
   */
  async store(transaction: Db, write: OwnerWrite): Promise<void> {
    const { owner, at, storedAt, seq, keyId } = write
    const [said, kept] = [sql`excluded.opted_out_at`, sql`internal_dnc.opted_out_at`]
    const isBack = sql`${lastMomentOf(said)} >= internal_dnc.removed_at`
    const later = laterOf(said, kept)
    await sql`insert into internal_dnc (account_id, list, number, added_at, modified_at, removed_at,
        opted_out_at, stored_at, opted_out_seq, key_id)
      select ${owner.accountId}, ${owner.projectCode}, said.number, ${beginning}, ${at}, null,
        said.said_at, ${storedAt}, case when said.undated = 1 then ${seq} else 0 end, ${keyId}
      from import_opt_outs as said join import_judged as judged on judged.number = said.number
      where judged.outcome <> 'unchanged' order by said.number
      on conflict (account_id, list, number) do update set
        added_at = case when ${isBack} then excluded.added_at else internal_dnc.added_at end,
        modified_at = case when ${isBack} then ${at} else internal_dnc.modified_at end,
        removed_at = case when ${isBack} then null else internal_dnc.removed_at end,
        opted_out_at = ${later},
        opted_out_seq = ${greaterOf(sql`excluded.opted_out_seq`, sql`internal_dnc.opted_out_seq`)},
        stored_at = excluded.stored_at,
        key_id = excluded.key_id
      where ${later} > ${kept}
        or excluded.opted_out_seq > internal_dnc.opted_out_seq or ${isBack}`.execute(transaction)
    await touchList(transaction, write)
  }

  async close(): Promise<void> {
    await sql`drop table if exists temp.import_rows`.execute(this.#db)
    await sql`drop table if exists temp.import_opt_outs`.execute(this.#db)
    await sql`drop table if exists temp.import_judged`.execute(this.#db)
  }
}

function insertOf(values: RawBuilder<unknown>) {
  return sql`insert into import_rows (number, said_at, undated) values ${values}`
}

/** What is shown as its beginning: of a day alone its first moment. */
const beginning = sql`case when said.said_at % ${msPerDay} = ${msPerDay} - 1
  then said.said_at - ${msPerDay} + 1 else said.said_at end`

type Value = RawBuilder<unknown>

/** How long a day goes on in American Samoa after it has ended in UTC. */
const longestLagMs = 11 * 3_600_000

const isDayAlone = (at: Value) => sql`${at} % ${msPerDay} = ${msPerDay} - 1`

/** The last moment that may be meant, wherever the number is. */
function lastMomentOf(at: Value): Value {
  return sql`(${at} + case when ${isDayAlone(at)} then ${longestLagMs} else 0 end)`
}

const greaterOf = (one: Value, other: Value): Value =>
  sql`(case when ${one} > ${other} then ${one} else ${other} end)`

/** The latest of several: the last moment of a day alone, where an exact time falls into its evening. */
function latestOf(greatest: Value, lastMoment: Value): Value {
  return sql`(case when ${isDayAlone(greatest)} then ${greatest} else ${lastMoment} end)`
}

function laterOf(one: Value, other: Value): Value {
  return latestOf(greaterOf(one, other), greaterOf(lastMomentOf(one), lastMomentOf(other)))
}
