/** When the server of a journal was last seen, so that an operator finds those that are gone; in PostgreSQL, as the journals. */
import { type Kysely, PostgresAdapter } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
  await db.schema.alterTable('journals').addColumn('seen_at', 'bigint').execute()
}
