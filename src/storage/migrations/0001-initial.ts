/** The first schema: accounts and keys, projects, internal list, relationship records, decisions. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await accounts(db)
  await projects(db)
  await internalDnc(db)
  await ebrRecords(db)
  await decisions(db)
}

async function accounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('agents_may_remove', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('key_hash', 'text', (column) => column.notNull().unique())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute()
}

async function projects(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('projects')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('code', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('industry_exemption', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('voip_restricted', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('inherits_internal_dnc', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('inherits_ebr', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('modified_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('projects_key', ['account_id', 'code'])
    .execute()
  await db.schema
    .createTable('campaigns')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('project_code', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('is_default', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('status', 'text', (column) => column.notNull())
    .addForeignKeyConstraint('campaigns_project', ['account_id', 'project_code'], 'projects', [
      'account_id',
      'code',
    ])
    .execute()
  await db.schema
    .createTable('project_hours')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('project_code', 'text', (column) => column.notNull())
    .addColumn('region', 'text', (column) => column.notNull())
    .addColumn('mon_fri', 'text', (column) => column.notNull())
    .addColumn('sat', 'text', (column) => column.notNull())
    .addColumn('sun', 'text', (column) => column.notNull())
    .addColumn('effective_from', 'text')
    .addColumn('effective_until', 'text')
    .addForeignKeyConstraint('project_hours_project', ['account_id', 'project_code'], 'projects', [
      'account_id',
      'code',
    ])
    .execute()
  await db.schema
    .createIndex('project_hours_lookup')
    .on('project_hours')
    .columns(['account_id', 'project_code', 'region'])
    .execute()
}

async function internalDnc(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('internal_dnc')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addColumn('modified_at', 'bigint', (column) => column.notNull())
    .addColumn('removed_at', 'bigint')
    .addColumn('opted_out_at', 'bigint', (column) => column.notNull())
    .addColumn('stored_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('internal_dnc_key', ['account_id', 'list', 'number'])
    .execute()
  await db.schema
    .createTable('internal_dnc_lists')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('modified_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('internal_dnc_lists_key', ['account_id', 'list'])
    .execute()
}

async function ebrRecords(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ebr_records')
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('project_code', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('contact_on', 'text', (column) => column.notNull())
    .addColumn('contact_at', 'bigint')
    .addColumn('obligation_ends_on', 'text')
    .addColumn('reference_num', 'text')
    .addColumn('brand', 'text')
    .addColumn('email', 'text')
    .addColumn('recorded_at', 'bigint', (column) => column.notNull())
    .addColumn('stored_at', 'bigint', (column) => column.notNull())
    .addColumn('superseded_at', 'bigint')
    .execute()
  await sql`create unique index ebr_records_in_force on ebr_records
    (account_id, project_code, number) where superseded_at is null`.execute(db)
}

async function decisions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('decisions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('decided_at', 'bigint', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('call_kind', 'text', (column) => column.notNull())
    .addColumn('decision', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('via', 'text', (column) => column.notNull())
    .addColumn('what_if', 'integer', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .execute()
}
