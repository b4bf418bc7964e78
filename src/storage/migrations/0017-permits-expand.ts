/** Permits of single calls that a SIP edge can check, and the keys that sign them. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('permits')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('decision_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('edge', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('caller_id', 'text', (column) => column.notNull())
    .addColumn('call_kind', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text')
    .addColumn('campaign_id', 'text')
    .addColumn('postal_code', 'text')
    .addColumn('purpose', 'text')
    .addColumn('subject', 'text')
    .addColumn('person', 'text')
    .addColumn('asked_kinds', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('issued_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('channel', 'text')
    .execute()
  await db.schema.createIndex('permits_expiry').on('permits').column('expires_at').execute()
  await db.schema
    .createTable('permit_keys')
    .addColumn('edge', 'text', (column) => column.notNull())
    .addColumn('serial', 'integer', (column) => column.notNull())
    .addColumn('private_key', 'text', (column) => column.notNull())
    .addColumn('signs_from', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('permit_keys_key', ['edge', 'serial'])
    .execute()
}
