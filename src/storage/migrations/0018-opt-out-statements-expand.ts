/** What people said when they opted out. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('opt_out_statements')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('decision_id', 'text')
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('said', 'text')
    .addColumn('heard_at', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text')
    .addPrimaryKeyConstraint('opt_out_statements_key', ['account_id', 'id'])
    .execute()
  await db.schema
    .createIndex('opt_out_statements_number')
    .on('opt_out_statements')
    .column('number')
    .execute()
}
