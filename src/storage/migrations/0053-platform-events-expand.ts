/** Tables for the events of voice platforms, the calls that they are about, and unclear opt-outs. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await createCalls(db)
  await createEvents(db)
  await createUnclear(db)
}

async function createCalls(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('platform_calls')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('decision_id', 'text')
    .addColumn('number', 'text')
    .addColumn('registered_at', 'bigint')
    .addColumn('has_call_id', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('answered_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('heard_at', 'bigint')
    .addColumn('opted_out_at', 'bigint')
    .addColumn('fetched_at', 'bigint')
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('platform_calls_key', ['account_id', 'platform', 'id'])
    .execute()
  await index(db, 'platform_calls', 'number')
  await index(db, 'platform_calls', 'account_id', 'platform', 'registered_at')
  await index(db, 'platform_calls', 'changed_at')
  await db.schema
    .createTable('platform_call_ids')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('call', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('platform_call_ids_key', ['account_id', 'platform', 'call_id'])
    .execute()
  await index(db, 'platform_call_ids', 'account_id', 'platform', 'call')
}

async function createEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('platform_events')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('stored_at', 'bigint', (column) => column.notNull())
    .addColumn('delivery', 'text')
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('query', 'text', (column) => column.notNull())
    .addColumn('read_at', 'bigint')
    .addPrimaryKeyConstraint('platform_events_key', ['account_id', 'id'])
    .execute()
  await index(db, 'platform_events', 'read_at', 'stored_at')
  await db.schema
    .createTable('platform_event_parts')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('call', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('is_whole', 'integer', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('stored_at', 'bigint', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('platform_event_parts_key', ['account_id', 'event_id', 'part'])
    .execute()
  await index(db, 'platform_event_parts', 'account_id', 'platform', 'call')
  await index(db, 'platform_event_parts', 'state', 'stored_at')
}

async function createUnclear(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('unclear_opt_outs')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('call', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('decision_id', 'text')
    .addColumn('number', 'text')
    .addColumn('said', 'text')
    .addColumn('heard_at', 'bigint', (column) => column.notNull())
    .addColumn('resolved_at', 'bigint')
    .addColumn('resolved_by', 'text')
    .addColumn('resolution', 'text')
    .addPrimaryKeyConstraint('unclear_opt_outs_key', ['account_id', 'id'])
    .execute()
  await index(db, 'unclear_opt_outs', 'resolved_at', 'kind')
  await index(db, 'unclear_opt_outs', 'number')
  await db.schema
    .createTable('platform_reports')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('can_fetch', 'integer')
    .addColumn('reported_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('platform_reports_key', ['account_id', 'platform'])
    .execute()
}

async function index(
  db: Kysely<unknown>,
  table: string,
  ...columns: readonly string[]
): Promise<void> {
  await db.schema
    .createIndex(`${table}_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
