/**
 * What laws on the number of calls to a person need of an attempt. The check of it only reports, for the accounts that there are, until
 * somebody has it enforced: their dialers have called without it.
 */
import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('attempts').addColumn('subject', 'text').execute()
  await db.schema.alterTable('attempts').addColumn('person', 'text').execute()
  await db.schema.alterTable('attempts').addColumn('answered', 'integer').execute()
  await db.schema
    .createIndex('attempts_of_number')
    .on('attempts')
    .columns(['account_id', 'number', 'at'])
    .execute()
  await db.schema
    .createIndex('attempts_of_person')
    .on('attempts')
    .columns(['account_id', 'person', 'at'])
    .where(sql<boolean>`person is not null`)
    .execute()
  await putInShadow(db, 'attempts')
}

/** A new check only reports, for the accounts that there are. */
export async function putInShadow(db: Kysely<unknown>, check: string): Promise<void> {
  await sql`insert into pauses (subject, account_id, paused_at, paused_by, reason)
    select ${`check:${check}:`} || id, id, ${currentTime(db)}, 'upgrade', 'the account is older than this check'
    from accounts where kind = 'real'`.execute(db)
}

/** In milliseconds. */
export function currentTime(db: Kysely<unknown>): RawBuilder<number> {
  return db.getExecutor().adapter instanceof PostgresAdapter
    ? sql`(extract(epoch from now()) * 1000)::bigint`
    : sql`cast(unixepoch('subsec') * 1000 as integer)`
}
