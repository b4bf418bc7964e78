/** Opt-outs that an edge has not delivered are those of a project, whose list may become another one. Only edges use the table. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('edge_opt_outs').renameTo('edge_opt_outs_of_lists').execute()
  await db.schema
    .createTable('edge_opt_outs')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('number', 'text', (column) => column.notNull())
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('edge_opt_outs_of_projects_key', ['account_id', 'project', 'number'])
    .execute()
  await sql`insert into edge_opt_outs (account_id, project, list, number, added_at)
    select account_id, list, list, number, added_at from edge_opt_outs_of_lists`.execute(db)
  await db.schema.dropTable('edge_opt_outs_of_lists').execute()
}
