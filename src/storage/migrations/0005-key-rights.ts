/** What a key may do. Keys made before keep everything they had. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('api_keys')
    .addColumn('rights', 'text', (column) =>
      column.notNull().defaultTo('decide,look-up,records,consent,manage'),
    )
    .execute()
  await db.schema.alterTable('api_keys').addColumn('projects', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('call_kinds', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('expires_at', 'bigint').execute()
}
