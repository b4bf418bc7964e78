/**
 * The decisions of all servers of a PostgreSQL database, copied from their journals. SQLite, which has one server,
 * has none of these tables.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
  await db.schema
    .createTable('journals')
    .addColumn('origin', 'text', (column) => column.primaryKey())
    .addColumn('next_seq', 'bigint', (column) => column.notNull())
    .addColumn('removed_before', 'bigint', (column) => column.notNull())
    .addColumn('shipped', 'integer', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('erased_journals')
    .addColumn('erasure_id', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('rows_done', 'integer', (column) => column.notNull())
    .addColumn('erased', 'integer')
    .addColumn('kept', 'integer')
    .addPrimaryKeyConstraint('erased_journals_key', ['erasure_id', 'origin'])
    .execute()
  // An id begins with its instant, so a range of ids is a month.
  await sql`create table recorded_decisions (
    id text collate "C" not null, origin text collate "C" not null, account_id text collate "C",
    body text, outcome text, primary key (id, origin)) partition by range (id)`.execute(db)
}
