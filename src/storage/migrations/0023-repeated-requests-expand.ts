/** Requests for a decision that may be sent again. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('repeated_requests')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('decision_id', 'text')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('repeated_requests_key', ['key_id', 'key'])
    .execute()
  await db.schema.createIndex('repeated_requests_at').on('repeated_requests').column('at').execute()
  // For calls that were not placed.
  await db.schema.createIndex('permits_decision').on('permits').column('decision_id').execute()
}
