/** Tokens, registrations of projects, legal entities, monitored numbers, scans and webhooks. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await accounts(db)
  await projects(db)
  await legalEntities(db)
  await monitor(db)
  await scans(db)
  await webhooks(db)
}

async function accounts(db: Kysely<unknown>): Promise<void> {
  // SQLite adds one column at a time.
  for (const [name, type, otherwise] of [
    ['country', 'text', 'US'],
    ['may_scan', 'integer', 1],
    ['auto_prefix', 'integer', 0],
  ] as const) {
    await db.schema
      .alterTable('accounts')
      .addColumn(name, type, (column) => column.notNull().defaultTo(otherwise))
      .execute()
  }
  await db.schema.alterTable('accounts').addColumn('scan_credits', 'integer').execute()
  await db.schema.alterTable('accounts').addColumn('webhook_secret', 'text').execute()
  await db.schema
    .createTable('access_tokens')
    .addColumn('token_hash', 'text', (column) => column.primaryKey())
    .addColumn('key_id', 'text', (column) => column.notNull().references('api_keys.id'))
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('access_tokens_expiry')
    .on('access_tokens')
    .column('expires_at')
    .execute()
}

async function projects(db: Kysely<unknown>): Promise<void> {
  for (const name of ['notes', 'san', 'org_id', 'webhook_url', 'ftc_status', 'ftc_message']) {
    await db.schema.alterTable('projects').addColumn(name, 'text').execute()
  }
  await db.schema.alterTable('projects').addColumn('ftc_checked_at', 'bigint').execute()
  await db.schema.alterTable('projects').addColumn('ftc_expires_on', 'text').execute()
  await db.schema
    .alterTable('projects')
    .addColumn('ftc_entire_us', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('projects')
    .addColumn('ftc_area_codes', 'text', (column) => column.notNull().defaultTo(''))
    .execute()
  await db.schema
    .createTable('state_registrations')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('project_code', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('confirmation', 'text')
    .addColumn('submitted_at', 'bigint')
    .addPrimaryKeyConstraint('state_registrations_key', ['account_id', 'project_code', 'state'])
    .addForeignKeyConstraint(
      'state_registrations_project',
      ['account_id', 'project_code'],
      'projects',
      ['account_id', 'code'],
    )
    .execute()
}

async function legalEntities(db: Kysely<unknown>): Promise<void> {
  const texts = [
    'legal_name',
    'ein',
    'street_address',
    'city',
    'state',
    'zip',
    'country_code',
    'primary_phone_number',
    'more',
  ]
  let table = db.schema
    .createTable('legal_entities')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('is_default', 'integer', (column) => column.notNull())
  for (const name of texts) table = table.addColumn(name, 'text', (column) => column.notNull())
  await table
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('modified_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('legal_entities_account')
    .on('legal_entities')
    .column('account_id')
    .execute()
}

async function monitor(db: Kysely<unknown>): Promise<void> {
  let numbers = db.schema
    .createTable('monitored_numbers')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('label', 'text')
    .addColumn('legal_entity_id', 'integer')
    .addColumn('service_type', 'text')
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('monitored_numbers_key', ['account_id', 'number'])
  for (const name of ['checked_at', 'medium_at', 'high_at', 'span_at']) {
    numbers = numbers.addColumn(name, 'bigint')
  }
  for (const name of ['heard', 'flagged', 'looks', 'medium_looks', 'high_looks']) {
    numbers = numbers.addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
  }
  await numbers.execute()
  await db.schema
    .createIndex('monitored_numbers_due')
    .on('monitored_numbers')
    .column('due_at')
    .execute()
  await labelObservations(db)
  await flagRemovals(db)
}

async function labelObservations(db: Kysely<unknown>): Promise<void> {
  let observations = db.schema
    .createTable('label_observations')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('first_at', 'bigint', (column) => column.notNull())
    .addColumn('last_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('label_observations_key', ['account_id', 'number', 'first_at'])
  for (const name of ['looks', 'answered', 'flagged', 'complete']) {
    observations = observations.addColumn(name, 'integer', (column) => column.notNull())
  }
  await observations.execute()
  await db.schema
    .createIndex('label_observations_age')
    .on('label_observations')
    .column('last_at')
    .execute()
}

async function flagRemovals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('flag_removals')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('removed_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('flag_removals_account')
    .on('flag_removals')
    .columns(['account_id', 'removed_at'])
    .execute()
  await db.schema
    .createIndex('flag_removals_age')
    .on('flag_removals')
    .column('removed_at')
    .execute()
}

async function scans(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('scan_jobs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('scan_type', 'text', (column) => column.notNull())
    .addColumn('notification_url', 'text', (column) => column.notNull())
    .addColumn('notification_key', 'text')
    .addColumn('phone_count', 'integer', (column) => column.notNull())
    .addColumn('processed_count', 'integer', (column) => column.notNull())
    .addColumn('credits_taken', 'integer', (column) => column.notNull())
    .addColumn('idle_passes', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('finished_at', 'bigint')
    .addColumn('failure', 'text')
    .execute()
  await sql`create index scan_jobs_open on scan_jobs (account_id, due_at, finished_at)
    where finished_at is null`.execute(db)
  await sql`create index scan_jobs_finished on scan_jobs (finished_at)
    where finished_at is not null`.execute(db)
  await db.schema
    .createTable('scan_numbers')
    .addColumn('job_id', 'text', (column) => column.notNull().references('scan_jobs.id'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addPrimaryKeyConstraint('scan_numbers_key', ['job_id', 'position'])
    .execute()
}

async function webhooks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('lane', 'text', (column) => column.notNull())
    .addColumn('api_key', 'text')
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await sql`create index webhook_events_due on webhook_events (lane, next_attempt_at, id)
    where next_attempt_at is not null`.execute(db)
  await db.schema
    .createIndex('webhook_events_subject')
    .on('webhook_events')
    .columns(['account_id', 'kind', 'subject'])
    .execute()
  await db.schema
    .createTable('webhook_attempts')
    .addColumn('event_id', 'text', (column) => column.notNull().references('webhook_events.id'))
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('sent_at', 'bigint', (column) => column.notNull())
    .addColumn('http_status', 'integer')
    .addColumn('error', 'text')
    .addPrimaryKeyConstraint('webhook_attempts_key', ['event_id', 'attempt'])
    .execute()
}
