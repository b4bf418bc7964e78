/** The opt-outs of an import: how they are compared with the internal list, and stored. */
import { sql } from 'kysely'
import type { ImportedOptOut } from '../../data/feeds/record-files.js'
import { msPerDay } from '../../domain/time/dates.js'
import { encodeDateOnly } from '../../law/records/opt-out.js'
import { findAccount } from '../accounts/accounts.js'
import { greaterOf, lastMomentOf, laterOf, latestOf } from '../internal-dnc/date-only-opt-out.js'
import { touchList } from '../internal-dnc/internal-dnc-rows.js'
import type { RecordImportKind } from './staged-records.js'

const latestSaid = latestOf(sql`max(said_at)`, sql`max(${lastMomentOf(sql`said_at`)})`)

/** The date shown for the entry: the start of the day if only the day is known. */
const shownStart = sql`case when said.said_at % ${msPerDay} = ${msPerDay} - 1
  then said.said_at - ${msPerDay} + 1 else said.said_at end`

export const optOutRecords: RecordImportKind<ImportedOptOut> = {
  outcomeLabels: {
    added: 'added to the list',
    back: 'added to the list again',
    later: 'already on the list, with an earlier opt-out',
    unchanged: 'already on the list',
    removed: 'left out: removed from the list since',
  },
  action: 'opt-outs.imported',
  storedOutcomes: ['added', 'back', 'later', 'removed'],
  sortedTable: 'import_opt_outs',
  columns: 'said_at bigint not null, undated integer not null',
  insertedColumns: sql`number, said_at, undated`,
  /** An opt-out is never later than its import; one without a date gets the time of the import. */
  toValues({ number, optedOutAt }, now) {
    if (optedOutAt === undefined) return [number, now, 1]
    return [number, Math.min(optedOutAt.at ?? encodeDateOnly(optedOutAt.day), now), 0]
  },
  /** Keeps the latest opt-out of each number. */
  sort: sql`insert into import_opt_outs (number, said_at, undated)
    select number, ${latestSaid}, max(undated) from import_rows
    group by number order by number`,
  /** For an account that ignores repeated adds, a listed number is updated only by a row with a date. */
  async judge(db, { accountId, projectCode }) {
    const account = await findAccount(db, accountId)
    const repeated = account?.repeatedAdd === 'ignored' ? 'unchanged' : 'later'
    return sql`insert into import_judged (number, outcome)
      select said.number, case
        when entry.number is null then 'added'
        when entry.removed_at <= ${lastMomentOf(sql`said.said_at`)} then 'back'
        when entry.removed_at is not null then 'removed'
        when said.undated = 1 then ${repeated}
        when ${laterOf(sql`said.said_at`, sql`entry.opted_out_at`)} > entry.opted_out_at then 'later'
        else 'unchanged' end
      from import_opt_outs as said left join internal_dnc as entry
        on entry.account_id = ${accountId} and entry.list = ${projectCode}
          and entry.number = said.number`
  },
  /**
   * An opt-out with a date gets sequence number 0, so that only dates order it against consents. One
   * without a date is ordered by when it is stored. An entry that has since been removed stays removed,
   * but the opt-out still ends records that are older.
   */
  async store(transaction, write) {
    const { owner, at, storedAt, seq, keyId } = write
    const [said, kept] = [sql`excluded.opted_out_at`, sql`internal_dnc.opted_out_at`]
    const isBack = sql`${lastMomentOf(said)} >= internal_dnc.removed_at`
    const later = laterOf(said, kept)
    await sql`insert into internal_dnc (account_id, list, number, added_at, modified_at, removed_at,
        opted_out_at, stored_at, opted_out_seq, opted_out_by_date, key_id)
      select ${owner.accountId}, ${owner.projectCode}, said.number, ${shownStart}, ${at}, null,
        said.said_at, ${storedAt}, case when said.undated = 1 then ${seq} else 0 end,
        1 - said.undated, ${keyId}
      from import_opt_outs as said join import_judged as judged on judged.number = said.number
      where judged.outcome <> 'unchanged' order by said.number
      on conflict (account_id, list, number) do update set
        added_at = case when ${isBack} then excluded.added_at else internal_dnc.added_at end,
        modified_at = case when ${isBack} then ${at} else internal_dnc.modified_at end,
        removed_at = case when ${isBack} then null else internal_dnc.removed_at end,
        opted_out_at = ${later},
        opted_out_seq = ${greaterOf(sql`excluded.opted_out_seq`, sql`internal_dnc.opted_out_seq`)},
        opted_out_by_date = case when ${later} = ${kept} then internal_dnc.opted_out_by_date
          else excluded.opted_out_by_date end,
        stored_at = excluded.stored_at,
        key_id = excluded.key_id
      where ${later} > ${kept}
        or excluded.opted_out_seq > internal_dnc.opted_out_seq or ${isBack}`.execute(transaction)
    await touchList(transaction, write)
  },
}
