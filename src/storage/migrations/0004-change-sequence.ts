/**
 * The order of opt-outs and consents by a sequence of the database instead of a clock, the newest
 * instant anything was stored at, the key behind each opt-out and consent, and two rules that an
 * account or a record may have.
 */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await addColumns(db)
  await numberStoredRows(db)
  await db.schema
    .createTable('change_head')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('newest_at', 'bigint', (column) => column.notNull())
    .addColumn('acceptances', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`insert into change_head (id, seq, newest_at) values (
    1,
    (select coalesce(max(latest), 0) from (
      select max(stored_seq) as latest from ebr_records union all
      select max(opted_out_seq) from internal_dnc) as seqs),
    (select coalesce(max(latest), 0) from (
      select max(stored_at) as latest from ebr_records union all
      select max(stored_at) from internal_dnc union all
      select max(decided_at) from decisions where id = (select max(id) from decisions)) as instants))`.execute(
    db,
  )
}

async function addColumns(db: Kysely<unknown>): Promise<void> {
  for (const [table, name, otherwise] of [
    ['internal_dnc', 'opted_out_seq', 0],
    ['ebr_records', 'stored_seq', 0],
    ['ebr_records', 'lifts_opt_out', 1],
    ['accounts', 'ignores_repeated_add', 0],
  ] as const) {
    await db.schema
      .alterTable(table)
      .addColumn(name, 'bigint', (column) => column.notNull().defaultTo(otherwise))
      .execute()
  }
  for (const table of ['internal_dnc', 'ebr_records']) {
    await db.schema.alterTable(table).addColumn('key_id', 'text').execute()
  }
}

/**
 * In the order of `stored_at`, which so far was what ordered them; where that is equal, the opt-out
 * comes after the consent. Rows of a sandbox's fixed facts were never stored by anybody and keep 0.
 */
async function numberStoredRows(db: Kysely<unknown>): Promise<void> {
  // A new database has none, and PostgreSQL has no `rowid`.
  const stored = sql`select stored_at from ebr_records union all select stored_at from internal_dnc`
  if ((await sql`${stored} limit 1`.execute(db)).rows.length === 0) return
  const ordered = sql`
    select kind, row, row_number() over (order by stored_at, kind, row) as seq from (
      select 0 as kind, id as row, stored_at from ebr_records
      union all
      select 1 as kind, rowid as row, stored_at from internal_dnc where stored_at > 0)`
  await sql`update ebr_records set stored_seq = ordered.seq
    from (${ordered}) as ordered where kind = 0 and ordered.row = ebr_records.id`.execute(db)
  await sql`update internal_dnc set opted_out_seq = ordered.seq
    from (${ordered}) as ordered where kind = 1 and ordered.row = internal_dnc.rowid`.execute(db)
}
