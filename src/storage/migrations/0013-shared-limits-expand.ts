/** How much of a limit that holds for all servers of a database together has been taken. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('shared_limits')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('taken', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('shared_limits_expiry')
    .on('shared_limits')
    .column('expires_at')
    .execute()
}
