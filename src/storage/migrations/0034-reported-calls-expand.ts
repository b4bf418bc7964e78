/**
 * How many calls of a campaign were not answered, and how many of them the side of the caller ended too early; and how each such call
 * counts. The last day on which the person of a record confirmed the identity. Older servers count and read none of it.
 */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const name of ['unanswered', 'disconnected_early']) {
    await db.schema
      .alterTable('abandonment_counts')
      .addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  }
  await db.schema.alterTable('answered_calls').addColumn('rang', 'text').execute()
  await db.schema.alterTable('ebr_records').addColumn('confirmed_on', 'text').execute()
}
