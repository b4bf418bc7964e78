/** Changes that one person has asked for and another one must approve. Older servers neither ask for any nor carry them out. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('change_requests')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('what', 'text', (column) => column.notNull())
    .addColumn('endpoint', 'text')
    .addColumn('request', 'text')
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('asked_by', 'text', (column) => column.notNull())
    .addColumn('asked_id', 'text', (column) => column.notNull())
    .addColumn('asked_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('decided_at', 'bigint')
    .addColumn('note', 'text')
    .addColumn('problem', 'text')
    .execute()
  await db.schema
    .createIndex('change_requests_newest')
    .on('change_requests')
    .columns(['account_id', 'asked_at'])
    .execute()
}
