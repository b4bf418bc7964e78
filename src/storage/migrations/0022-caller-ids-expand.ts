/**
 * The own numbers of accounts, which their calls may show. The check of what a call shows only reports, for the accounts that there are,
 * until somebody has it enforced: their dialers have called without it.
 */
import { type Kysely, PostgresAdapter, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  const now = isPostgres
    ? sql`(extract(epoch from now()) * 1000)::bigint`
    : sql`cast(unixepoch('subsec') * 1000 as integer)`
  await sql`insert into pauses (subject, account_id, paused_at, paused_by, reason)
    select 'check:caller-id:' || id, id, ${now}, 'upgrade', 'the account is older than this check'
    from accounts where kind = 'real'`.execute(db)
}
