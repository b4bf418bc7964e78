/** Who is behind a key, and who has signed in: what two people are told apart by. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('api_keys')
    .addColumn('root', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  await db.schema
    .alterTable('api_keys')
    .addColumn('is_personal', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('change_requests')
    .addColumn('asked_seq', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createTable('people')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('email', 'text')
    .addColumn('able_since', 'bigint', (column) => column.notNull())
    .execute()
}
