/** Consents of an import: put aside as they are read, compared with those on file, stored at once. */
import { type RawBuilder, sql } from 'kysely'
import type { ConsentRow } from '../../data/feeds/record-rows.js'
import { formatDay, type Instant } from '../../domain/clock.js'
import type { Db } from '../../storage/tables.js'
import { msPerDay } from '../internal-dnc/opt-out-day.js'
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
  added: 'stored',
  replacing: 'stored in place of an older record',
  unchanged: 'on file already',
  older: 'left out: a newer record is on file',
  ended: 'left out: the record on file was taken out of force since',
} as const

/**
 * Of several records the one is in force that is the newest by their own dates, of one day the one
 * that lasts longest, then the one with the latest time.
 */
function orderOf(table: string) {
  const column = (name: string) => sql.ref(`${table}.${name}`)
  const lasting = sql`case ${column('type')} when 'P' then 3 when 'S' then 2 when 'I' then 1 else 0 end`
  return [column('contact_on'), lasting, sql`coalesce(${column('contact_at')}, 0)`]
}

const details = [
  ...(['type', 'contact_on', 'contact_at', 'obligation_ends_on'] as const),
  ...(['reference_num', 'brand', 'email'] as const),
]
const detailColumns = sql.join(details.map((name) => sql.ref(name)))
const staged = sql`number, ${detailColumns}, counts_from`

export class StagedConsents implements StagedRecords<ConsentRow> {
  readonly outcomes: Outcomes = outcomes
  readonly stores = ['added', 'replacing']
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
    for (const [table, key] of [
      ['import_rows', 'not null'],
      ['import_consents', 'primary key'],
    ] as const) {
      await sql`create temporary table ${sql.table(table)} (number text ${sql.raw(key)},
        type text not null, contact_on text not null, contact_at bigint, obligation_ends_on text,
        reference_num text, brand text, email text, counts_from bigint not null)`.execute(this.#db)
    }
    await sql`create temporary table import_judged (number text primary key, outcome text not null,
      replaced integer)`.execute(this.#db)
  }

  async put(rows: readonly ConsentRow[]): Promise<void> {
    await this.#inserts.insert(rows.map((row) => valuesOf(row, this.#options.now)))
  }

  async sort(): Promise<void> {
    const order = orderOf('import_rows').map((part) => sql`${part} desc`)
    await sql`insert into import_consents (${staged}) select ${staged} from (
        select ${staged}, row_number() over
          (partition by number order by ${sql.join(order)}, rowid desc) as place
        from import_rows)
      where place = 1 order by number`.execute(this.#db)
  }

  /** A record that was taken out of force comes back only by a consent of a later time. */
  async judge(db: Db, { accountId, projectCode }: Owner): Promise<ReadonlyMap<string, number>> {
    const same = details.map(
      (name) => sql`${sql.ref(`said.${name}`)} is not distinct from ${sql.ref(`record.${name}`)}`,
    )
    await sql`delete from import_judged`.execute(db)
    await sql`insert into import_judged (number, replaced, outcome)
      select said.number, record.id, case
        when record.id is null and said.counts_from <= past.ended_at then 'ended'
        when record.id is null then 'added'
        when ${sql.join(same, sql` and `)} then 'unchanged'
        when (${sql.join(orderOf('said'))}) >= (${sql.join(orderOf('record'))}) then 'replacing'
        else 'older' end
      from import_consents as said left join ebr_records as record
        on record.account_id = ${accountId} and record.project_code = ${projectCode}
          and record.number = said.number and record.superseded_at is null
      left join (select number, max(superseded_at) as ended_at from ebr_records
        where account_id = ${accountId} and project_code = ${projectCode}
          and superseded_at is not null group by number) as past
        on past.number = said.number`.execute(db)
    return await judgedIn(db)
  }

  /** Each takes the next number of the order: an opt-out stored before ends it by its date alone. */
  async store(transaction: Db, { owner, at, storedAt, seq, keyId }: OwnerWrite): Promise<void> {
    await sql`update ebr_records set superseded_at = ${at} where id in
      (select replaced from import_judged where outcome = 'replacing')`.execute(transaction)
    await sql`insert into ebr_records (account_id, project_code, number, ${detailColumns},
        recorded_at, stored_at, stored_seq, lifts_opt_out, key_id)
      select ${owner.accountId}, ${owner.projectCode}, said.number, ${detailColumns},
        ${at}, ${storedAt}, ${seq}, 1, ${keyId}
      from import_consents as said join import_judged as judged on judged.number = said.number
      where judged.outcome in ('added', 'replacing') order by said.number`.execute(transaction)
  }

  async close(): Promise<void> {
    await sql`drop table if exists temp.import_rows`.execute(this.#db)
    await sql`drop table if exists temp.import_consents`.execute(this.#db)
    await sql`drop table if exists temp.import_judged`.execute(this.#db)
  }
}

function insertOf(values: RawBuilder<unknown>) {
  return sql`insert into import_rows (${staged}) values ${values}`
}

/** One dated ahead of its import, in a zone whose day has begun, counts from the import. */
function valuesOf({ number, type, contact, obligationEndsOn, ...texts }: ConsentRow, now: Instant) {
  return [
    ...[number, type, formatDay(contact.day), contact.at ?? null],
    ...[obligationEndsOn === undefined ? null : formatDay(obligationEndsOn)],
    ...[texts.referenceNum ?? null, texts.brand ?? null, texts.email ?? null],
    Math.min(contact.at ?? contact.day * msPerDay, now),
  ]
}
