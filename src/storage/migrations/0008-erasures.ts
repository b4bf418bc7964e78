/** Requests to erase a number, and until when a record about an erased number is kept. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('erasures')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('number', 'text')
    .addColumn('account_id', 'text')
    .addColumn('includes_allowed', 'integer', (column) => column.notNull())
    .addColumn('requested_by', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('requested_at', 'bigint', (column) => column.notNull())
    .addColumn('rows', 'text', (column) => column.notNull())
    .addColumn('decisions_erased', 'integer')
    .addColumn('decisions_kept', 'integer')
    .addColumn('finished_at', 'bigint')
    .execute()
  await db.schema.alterTable('ebr_records').addColumn('erase_at', 'bigint').execute()
  await db.schema
    .createIndex('ebr_records_erase_at')
    .on('ebr_records')
    .column('erase_at')
    .where('erase_at', 'is not', null)
    .execute()
}
