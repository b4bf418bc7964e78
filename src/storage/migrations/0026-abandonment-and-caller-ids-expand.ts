/**
 * How many of the calls that persons answered were abandoned, by campaign and period, and how each answered call counts. The check
 * of it only reports, for the accounts that there are, until somebody has it enforced. Numbers that nobody may show, and what proves that an
 * account is where an own number is.
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
  // Those of ended periods are kept, and not read once a second.
  await db.schema
    .createIndex('abandonment_counts_current')
    .on('abandonment_counts')
    .columns(['account_id', 'period_end'])
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
  await db.schema
    .createTable('do_not_originate')
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('imported_at', 'bigint', (column) => column.notNull())
    .addColumn('imported_by', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('do_not_originate_key', ['prefix', 'source'])
    .execute()
  await db.schema.alterTable('caller_ids').addColumn('presence', 'text').execute()
}
