/** Requests for a decision that may be sent again. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('repeated_requests')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('decision_id', 'text')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('repeated_requests_key', ['account_id', 'key'])
    .execute()
  await db.schema.createIndex('repeated_requests_at').on('repeated_requests').column('at').execute()
}
