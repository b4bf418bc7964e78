/** The relationship and permission records of an import: how they are compared with those on file, and stored. */
import { sql } from 'kysely'
import type { ImportedEbrRecord } from '../../data/feeds/record-files.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay, msPerDay, msPerHour } from '../../domain/time/dates.js'
import type { RecordImportKind } from './staged-records.js'

/**
 * Orders records so that the last one is in force: by date, then by how long the type lasts, then by
 * time of day.
 */
function orderOf(table: string) {
  const column = (name: string) => sql.ref(`${table}.${name}`)
  const lasting = sql`case ${column('type')} when 'P' then 3 when 'S' then 2 when 'I' then 1 else 0 end`
  return [column('contact_on'), lasting, sql`coalesce(${column('contact_at')}, 0)`]
}

const details = [
  'type',
  'contact_on',
  'contact_at',
  'obligation_ends_on',
  'reference_num',
  'brand',
  'email',
]
const detailColumns = sql.join(details.map((name) => sql.ref(name)))
const stagedColumns = sql`number, ${detailColumns}, counts_from`

const newestFirst = orderOf('import_rows').map((part) => sql`${part} desc`)

export const ebrRecordImport: RecordImportKind<ImportedEbrRecord> = {
  outcomeLabels: {
    added: 'stored',
    replacing: 'stored in place of an older record',
    unchanged: 'already on file',
    older: 'left out: a newer record is on file',
    ended: 'left out: the record on file has been ended since',
  },
  action: 'consent-records.imported',
  storedOutcomes: ['added', 'replacing'],
  sortedTable: 'import_ebr_records',
  columns: `type text not null, contact_on text not null, contact_at bigint,
    obligation_ends_on text, reference_num text, brand text, email text,
    counts_from bigint not null`,
  judgedColumns: 'replaced integer',
  insertedColumns: stagedColumns,
  toValues,
  sort: sql`insert into import_ebr_records (${stagedColumns}) select ${stagedColumns} from (
      select ${stagedColumns}, row_number() over
        (partition by number order by ${sql.join(newestFirst)}, rowid desc) as place
      from import_rows)
    where place = 1 order by number`,
  /** A record that was ended is not revived; only a later consent replaces it. */
  async judge(_db, { accountId, projectCode }) {
    const same = details.map(
      (name) => sql`${sql.ref(`said.${name}`)} is not distinct from ${sql.ref(`record.${name}`)}`,
    )
    return sql`insert into import_judged (number, replaced, outcome)
      select said.number, record.id, case
        when record.id is null and said.counts_from <= past.ended_at then 'ended'
        when record.id is null then 'added'
        when ${sql.join(same, sql` and `)} then 'unchanged'
        when (${sql.join(orderOf('said'))}) >= (${sql.join(orderOf('record'))}) then 'replacing'
        else 'older' end
      from import_ebr_records as said left join ebr_records as record
        on record.account_id = ${accountId} and record.project_code = ${projectCode}
          and record.number = said.number and record.superseded_at is null
      left join (select number, max(superseded_at) as ended_at from ebr_records
        where account_id = ${accountId} and project_code = ${projectCode}
          and superseded_at is not null group by number) as past
        on past.number = said.number`
  },
  /** Each gets the next sequence number, so an opt-out stored earlier can end it only by date. */
  async store(transaction, { owner, at, storedAt, seq, keyId }) {
    await sql`update ebr_records set superseded_at = ${at} where id in
      (select replaced from import_judged where outcome = 'replacing')`.execute(transaction)
    await sql`insert into ebr_records (account_id, project_code, number, ${detailColumns},
        recorded_at, stored_at, stored_seq, imported, lifts_opt_out, key_id)
      select ${owner.accountId}, ${owner.projectCode}, said.number, ${detailColumns},
        ${at}, ${storedAt}, ${seq}, 1, 1, ${keyId}
      from import_ebr_records as said join import_judged as judged on judged.number = said.number
      where judged.outcome in ('added', 'replacing') order by said.number`.execute(transaction)
  },
}

/** A record dated later than its import, in a zone where that day has begun, is dated by the import. */
function toValues(
  { number, type, contact, obligationEndsOn, ...texts }: ImportedEbrRecord,
  now: Instant,
) {
  return [
    number,
    type,
    formatDay(contact.day),
    contact.at ?? null,
    obligationEndsOn === undefined ? null : formatDay(obligationEndsOn),
    texts.referenceNum ?? null,
    texts.brand ?? null,
    texts.email ?? null,
    Math.min(contact.at ?? startOfDay(contact.day, number), now),
  ]
}

/** The start of the day in UTC, or ten hours earlier in Guam and the Northern Mariana Islands. */
function startOfDay(day: LocalDay, number: PhoneNumber): Instant {
  return day * msPerDay - (/^67[01]/.test(number) ? 10 * msPerHour : 0)
}
