/** What the call was about in which an opt-out was said. Null in rows from before, and in those of older servers. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('opt_out_statements').addColumn('goods', 'text').execute()
}
