/** For edges: which changes are not about single numbers, the state of an edge's copy, and the opt-outs that it has not delivered. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('changes')
    .addColumn('all_numbers', 'integer', (column) => column.notNull().defaultTo(1))
    .execute()
  await db.schema
    .createTable('edge_copy')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('cursor', 'text', (column) => column.notNull())
    .addColumn('missing', 'text')
    .addColumn('current_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('edge_opt_outs')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('edge_opt_outs_key', ['account_id', 'list', 'number'])
    .execute()
}
