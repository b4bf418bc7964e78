/** People may be signed in to the console without a key. Servers of before find no key of theirs, so they do not let them in. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['person', 'role']) {
    await db.schema.alterTable('console_sessions').addColumn(column, 'text').execute()
  }
}
