/** What a scrub of an account may hold, and whether its AI flag keeps the hours of recorded voices. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('numbers_per_scrub', 'integer').execute()
  await db.schema
    .alterTable('accounts')
    .addColumn('ai_keeps_voice_windows', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
}
