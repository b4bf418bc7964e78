/**
 * How many of the calls that persons answered were abandoned, by campaign and period, and how each answered call counts. The check
 * of it only reports, for the accounts that there are, until somebody has it enforced.
 */
import type { Kysely } from 'kysely'
import { putInShadow } from './0020-frequency-expand.js'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('abandonment_counts')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('campaign', 'text', (column) => column.notNull())
    .addColumn('rule', 'text', (column) => column.notNull())
    .addColumn('period_start', 'bigint', (column) => column.notNull())
    .addColumn('period_end', 'bigint', (column) => column.notNull())
    .addColumn('answered', 'integer', (column) => column.notNull())
    .addColumn('abandoned', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('abandonment_counts_key', [
      'account_id',
      'campaign',
      'rule',
      'period_start',
    ])
    .execute()
  await db.schema
    .createTable('answered_calls')
    .addColumn('decision_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('answered_by', 'text')
    .addColumn('answered_at', 'bigint')
    .addColumn('greeting_ended_at', 'bigint')
    .addColumn('connected_at', 'bigint')
    .addColumn('counted', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('answered_calls_at').on('answered_calls').column('at').execute()
  await putInShadow(db, 'abandonment')
}
