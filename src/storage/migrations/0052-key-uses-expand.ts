/** When keys were last used. Apart from the keys, which edges copy and each change of which other servers follow. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('key_uses')
    .addColumn('key_id', 'text', (column) => column.primaryKey())
    .addColumn('used_at', 'bigint', (column) => column.notNull())
    .execute()
}
