/**
 * What has changed, in the order of the commits, for the other servers of a PostgreSQL database. Stays empty in SQLite,
 * which has one server. Replaces `command_writes`.
 */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('changes')
    .addColumn('seq', 'bigint', (column) => column.primaryKey())
    .addColumn('account_id', 'text')
    .addColumn('numbers', 'text')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.alterTable('change_head').dropColumn('command_writes').execute()
}
