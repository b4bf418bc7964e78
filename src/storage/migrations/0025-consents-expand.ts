/** What shows that consents were given, and what the permission records that point to them permit. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('consents')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('project_code', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('given_at', 'bigint', (column) => column.notNull())
    .addColumn('seller', 'text', (column) => column.notNull())
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('wording', 'text', (column) => column.notNull())
    .addColumn('wording_sha256', 'text', (column) => column.notNull())
    .addColumn('page', 'text')
    .addColumn('certificate', 'text')
    .addColumn('person', 'text')
    .addColumn('purposes', 'text')
    .addColumn('kinds', 'text')
    .addColumn('ends_on', 'text')
    .addColumn('recorded_at', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('erase_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('consents_of_number')
    .on('consents')
    .columns(['account_id', 'number'])
    .execute()
  await db.schema.alterTable('ebr_records').addColumn('consent', 'text').execute()
}
