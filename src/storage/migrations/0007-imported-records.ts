/** Which opt-outs and consents are as old as an import says; those imported before are marked. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, name] of [
    ['internal_dnc', 'opted_out_by_date'],
    ['ebr_records', 'imported'],
  ] as const) {
    await db.schema
      .alterTable(table)
      .addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  }
  await sql`update internal_dnc set opted_out_by_date = 1
    where key_id like 'import:%' or opted_out_at % 86400000 = 86399999`.execute(db)
  await sql`update ebr_records set imported = 1 where key_id like 'import:%'`.execute(db)
}
