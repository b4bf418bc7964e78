/** What limits the calls of a key, each version of it, the calls it was given, and the pauses that an operator has ordered. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('call_limits', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('not_before', 'bigint').execute()
  await db.schema
    .alterTable('api_keys')
    .addColumn('version', 'integer', (column) => column.notNull().defaultTo(1))
    .execute()
  await db.schema.alterTable('access_tokens').addColumn('call_limits', 'text').execute()
  await db.schema
    .createTable('key_versions')
    .addColumn('key_id', 'text', (column) => column.notNull().references('api_keys.id'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('limits', 'text', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addColumn('changed_by', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('key_versions_key', ['key_id', 'version'])
    .execute()
  await db.schema
    .createTable('pauses')
    .addColumn('subject', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('paused_at', 'bigint', (column) => column.notNull())
    .addColumn('paused_by', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('approvals')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('subject_hash', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('requested_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('decided_at', 'bigint')
    .addColumn('note', 'text')
    .addColumn('decision_id', 'text')
    .execute()
  await db.schema
    .createIndex('approvals_account')
    .on('approvals')
    .columns(['account_id', 'expires_at'])
    .execute()
  await db.schema
    .createTable('attempts')
    .addColumn('decision_id', 'text', (column) => column.primaryKey())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('attempts_key').on('attempts').columns(['key_id', 'at']).execute()
  await db.schema
    .createIndex('attempts_number')
    .on('attempts')
    .columns(['key_id', 'number', 'at'])
    .execute()
  await db.schema.createIndex('attempts_at').on('attempts').column('at').execute()
}
