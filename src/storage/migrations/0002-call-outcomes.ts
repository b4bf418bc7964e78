/**
 * What became of decided calls. An outcome may be on disk before its decision's record, which is
 * then still being tried, so no foreign key binds them.
 */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('call_outcomes')
    .addColumn('decision_id', 'text', (column) => column.primaryKey())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('handed_over_at', 'bigint')
    .addColumn('not_carried_out_at', 'bigint')
    .addColumn('not_carried_out', 'text')
    .addColumn('leg', 'text')
    .addColumn('dialled_at', 'bigint')
    .addColumn('answered_at', 'bigint')
    .addColumn('failed_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('dial_status', 'text')
    .addColumn('cause', 'integer')
    .execute()
}
