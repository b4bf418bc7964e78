/** What the calls of attempts were for, and how far they got. Neither is known of those from before, nor of those of older servers. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('attempts').addColumn('purpose', 'text').execute()
  await db.schema.alterTable('attempts').addColumn('reach', 'integer').execute()
}
