/**
 * What the calls of attempts were for; those from before were for telemarketing. Of an answered call it is not known whether a person
 * talked.
 */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('attempts').addColumn('purpose', 'text').execute()
  await sql`update attempts set answered = 2 where answered = 1`.execute(db)
}
