/**
 * The own numbers of accounts, which their calls may show. The check of what a call shows only reports, for the accounts that there are,
 * until somebody has it enforced: their dialers have called without it.
 */
import type { Kysely } from 'kysely'
import { putInShadow } from './0020-frequency-expand.js'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('caller_ids')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('proof', 'text', (column) => column.notNull())
    .addColumn('carrier', 'text')
    .addColumn('attestation', 'text')
    .addColumn('valid_from', 'bigint')
    .addColumn('valid_until', 'bigint')
    .addColumn('callback_tested_at', 'bigint')
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addColumn('added_by', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('ended_by', 'text')
    .addPrimaryKeyConstraint('caller_ids_key', ['account_id', 'number', 'project', 'added_at'])
    .execute()
  await putInShadow(db, 'caller-id')
}
