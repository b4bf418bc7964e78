/**
 * Decisions in blocks, and what became of their calls in rows of their own, which take the place of a row for each decision; in
 * PostgreSQL, as the journals. They are written once no server of an older version is there, which `blocks_seen_at` tells.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
  await db.schema
    .alterTable('journals')
    .addColumn('blocks_seen_at', 'bigint')
    .addColumn('copied_until', 'bigint')
    .execute()
  await sql`create table decision_blocks (
    last_id text collate "C" not null, first_id text collate "C" not null, origin text collate "C" not null,
    first_seq bigint not null, decisions integer not null, amends integer not null,
    terms bytea not null, body bytea not null,
    primary key (last_id, first_id, origin, first_seq)) partition by range (last_id)`.execute(db)
  // A search reads the terms of many blocks; the body is compressed already.
  await sql`alter table decision_blocks
    alter column terms set storage main, alter column body set storage external`.execute(db)
  await sql`create table recorded_outcomes (
    id text collate "C" not null, origin text collate "C" not null, outcome text not null,
    primary key (id, origin)) partition by range (id)`.execute(db)
}
