/** Whether the call of an attempt is known to have left, so that nothing releases it any more. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('attempts').addColumn('placed', 'integer').execute()
}
