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
    .execute()
  // An id begins with its instant, so a range of ids is a month.
  await sql`create table recorded_decisions (
    id text collate "C" not null, origin text collate "C" not null, account_id text collate "C",
    body text, outcome text, primary key (id, origin)) partition by range (id)`.execute(db)
}
