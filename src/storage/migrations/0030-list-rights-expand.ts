/**
 * Which accounts may use lists of other accounts. Those that there are have used the lists of account main, and go on with
 * them until somebody ends that right.
 */
import { type Kysely, sql } from 'kysely'
import { currentTime } from './0020-frequency-expand.js'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('list_rights')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('owner_id', 'text', (column) => column.notNull())
    .addColumn('because', 'text', (column) => column.notNull())
    .addColumn('granted_at', 'bigint', (column) => column.notNull())
    .addColumn('granted_by', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('ended_by', 'text')
    .addPrimaryKeyConstraint('list_rights_key', ['account_id', 'list', 'granted_at'])
    .execute()
  // One of each list at a time.
  await sql`create unique index list_rights_current on list_rights (account_id, list) where ended_at is null`.execute(
    db,
  )
  await sql`insert into list_rights (account_id, list, owner_id, because, granted_at, granted_by)
    select id, 'all', 'main', 'the account is older than rights to lists',
      ${currentTime(db)}, 'upgrade'
    from accounts where kind = 'real' and id <> 'main'`.execute(db)
}
