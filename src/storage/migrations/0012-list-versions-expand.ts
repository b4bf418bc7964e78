/** The versions of number lists that servers of one PostgreSQL database share. Stays empty in SQLite. */
import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('list_versions')
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('entries', 'bigint', (column) => column.notNull())
    .addColumn('as_of', 'bigint', (column) => column.notNull())
    .addColumn('in_force', 'integer', (column) => column.notNull())
    .addColumn('published_at', 'bigint', (column) => column.notNull())
    .addColumn('published_by', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('list_versions_key', ['name', 'version'])
    .execute()
}
