/** Records that were replaced are found by their number too. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('ebr_records_of_number')
    .on('ebr_records')
    .columns(['account_id', 'number'])
    .execute()
}
