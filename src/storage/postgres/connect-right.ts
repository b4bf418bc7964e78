/** Who can connect to the database. Any role that can is able to hold advisory locks, which servers take to write and to start. */
import { sql } from 'kysely'
import type { Db } from '../tables.js'

/** The name of the database if every role of PostgreSQL can connect to it. */
export async function findPublicDatabase(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ readonly name: string }>`
    select datname as name from pg_database where datname = current_database() and exists (
      select from aclexplode(coalesce(datacl, acldefault('d', datdba)))
      where grantee = 0 and privilege_type = 'CONNECT')`.execute(db)
  return rows[0]?.name
}
