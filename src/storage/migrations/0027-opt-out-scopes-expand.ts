/** What an opt-out is for, how it came in and when. Null in rows from before, and in those of older servers. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const columns = [
    ['scope', 'text'],
    ['channel', 'text'],
    ['received_at', 'bigint'],
    ['understood', 'integer'],
    ['read_at', 'bigint'],
    ['read_by', 'text'],
  ] as const
  for (const [name, type] of columns) {
    await db.schema.alterTable('opt_out_statements').addColumn(name, type).execute()
  }
}
