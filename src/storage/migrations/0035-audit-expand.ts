/**
 * Who changed what and who read about whom, in the order of the commits. Older servers write no such rows. Rows are deleted or changed
 * only by a transaction that has set `audit_open`, which nobody else sees. By `mark`, `installation` and `journal_positions`, a
 * database and a journal are known to belong together.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit')
    .addColumn('seq', 'bigint', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('who', 'text', (column) => column.notNull())
    .addColumn('door', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('subject_kind', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('before', 'text')
    .addColumn('after', 'text')
    .addColumn('reason', 'text')
    .addColumn('mark', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  await db.schema
    .createIndex('audit_newest')
    .on('audit')
    .columns(['account_id', 'at', 'seq'])
    .execute()
  await db.schema.createIndex('audit_subject').on('audit').columns(['subject']).execute()
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  for (const [name, type] of [
    ['audit_seq', 'bigint'],
    ['audit_open', 'integer'],
  ] as const) {
    await db.schema
      .alterTable('change_head')
      .addColumn(name, type, (column) => column.notNull().defaultTo(0))
      .execute()
  }
  for (const name of ['audit_key', 'installation']) {
    await db.schema
      .alterTable('change_head')
      .addColumn(name, 'text', (column) => column.notNull().defaultTo(''))
      .execute()
  }
  const [key, installation] = isPostgres
    ? [
        sql`replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')`,
        sql`replace(gen_random_uuid()::text, '-', '')`,
      ]
    : [sql`lower(hex(randomblob(32)))`, sql`lower(hex(randomblob(16)))`]
  await sql`update change_head set audit_key = ${key}, installation = ${installation}`.execute(db)
  await db.schema
    .createTable('journal_positions')
    .addColumn('origin', 'text', (column) => column.primaryKey())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('leaf', 'text', (column) => column.notNull())
    .execute()
  if (isPostgres) await refuseChangesInPostgres(db)
  else await refuseChangesInSqlite(db)
}

const refusal = 'rows of table audit are neither changed nor deleted'

async function refuseChangesInSqlite(db: Kysely<unknown>): Promise<void> {
  for (const change of ['update', 'delete']) {
    await sql`create trigger ${sql.raw(`audit_${change}`)} before ${sql.raw(change)} on audit
      when (select audit_open from change_head) = 0
      begin select raise(abort, ${sql.lit(refusal)}); end`.execute(db)
  }
}

async function refuseChangesInPostgres(db: Kysely<unknown>): Promise<void> {
  await sql`create function refuse_audit_change() returns trigger language plpgsql as $$
    begin
      if (select audit_open from change_head) = 0 then
        raise exception ${sql.lit(refusal)};
      end if;
      if tg_op = 'DELETE' then return old; end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger audit_kept before update or delete on audit
    for each row execute function refuse_audit_change()`.execute(db)
}
