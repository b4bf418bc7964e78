/** The newest record that is copied of a journal, so that another journal of the same name is noticed; in PostgreSQL, as the journals. */
import { type Kysely, PostgresAdapter } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
  await db.schema.alterTable('journals').addColumn('last_record', 'text').execute()
}
