/**
 * Which versions of servers are connected to a PostgreSQL database: each holds a shared lock with the number of the newest
 * schema that it knows, for as long as its connection lasts.
 */
import { type Kysely, sql } from 'kysely'

const locks = 5_550_101
/** Held by a server that has not announced itself yet, or by a migration that older servers could not go on with. */
const migrationLock = 0

/** DDL that waits for a long read would hold up everything that comes after it. */
const lockMs = 3_000

interface ServerConnection {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: readonly { name: string }[] }>
}

/** Returns the names of the migrations that were run; those that the server could not go on with are not run from now on. */
export async function registerServer(
  client: ServerConnection,
  schemaNumber: number,
): Promise<readonly string[]> {
  await client.query('select pg_advisory_lock_shared($1, $2)', [locks, migrationLock])
  await client.query('select pg_advisory_lock_shared($1, $2)', [locks, schemaNumber])
  const { rows } = await client.query('select name from kysely_migration order by name')
  await client.query('select pg_advisory_unlock_shared($1, $2)', [locks, migrationLock])
  return rows.map(({ name }) => name)
}

/** Until the end of the transaction, no server can announce itself. */
export async function lockMigration<Tables>(transaction: Kysely<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${locks}::int, ${migrationLock}::int)`.execute(transaction)
}

/** The schema numbers of the servers that have announced themselves. */
export async function readConnectedSchemas<Tables>(db: Kysely<Tables>): Promise<readonly number[]> {
  const { rows } = await sql<{ number: number }>`
    select objid::int as number from pg_locks
    where locktype = 'advisory' and classid = ${locks} and objsubid = 2 and objid <> ${migrationLock}
      and database = (select oid from pg_database where datname = current_database())`.execute(db)
  return rows.map(({ number }) => number)
}

export async function limitLockWaits<Tables>(transaction: Kysely<Tables>): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(lockMs)}`.execute(transaction)
}
