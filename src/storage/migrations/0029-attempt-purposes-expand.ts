/** What the calls of attempts were for; those from before were for telemarketing. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('attempts').addColumn('purpose', 'text').execute()
}
