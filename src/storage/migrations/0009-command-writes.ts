/** How often a command has written to a database that a server may have open. Stays 0 in SQLite, which counts by itself. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('change_head')
    .addColumn('command_writes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
}
