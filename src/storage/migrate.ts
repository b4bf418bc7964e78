/** Makes the schema of an empty database, and refuses a database with another schema. */
import { type Migration, sql } from 'kysely'
import { formatInstant } from '../domain/time/dates.js'
import { countLossFirst, truncate } from '../errors.js'
import { systemClock } from '../runtime/runtime.js'
import * as schema from './migrations/0001-schema.js'
import type { OpenDatabase } from './open-database.js'
import type { Db } from './tables.js'

const firstMigration = '0001-schema'
const migrations: Readonly<Record<string, Migration>> = { [firstMigration]: schema }
const knownMigrations = Object.keys(migrations)

/** Of the newest migration that this program knows. */
export const schemaNumber = knownMigrations.length

/** PostgreSQL lets one start or restore at a time look for tables and make them. */
const migrationLock = 5_550_101

/** Why this program cannot use a database in which these migrations were run, for people. */
export function findSchemaProblem(executed: readonly string[]): string | undefined {
  const unknown = executed.filter((name) => !knownMigrations.includes(name))
  if (unknown.length === 0) return undefined
  const names = truncate(unknown.join(', '))
  if (!executed.includes(firstMigration)) {
    return (
      `the database was made before the first release of callgate (${names}), and no release can use it. ` +
      'Start with an empty data folder, and over PostgreSQL with an empty database as well'
    )
  }
  return (
    `the database has a newer schema than this program knows (${names}). ` +
    `Install the callgate version that wrote it, or a newer one, or restore a backup of this version${countLossFirst}`
  )
}

/**
 * Makes the schema in an empty database. Throws, and changes nothing, if the database has another schema, or tables without a
 * record of it. Messages are for people.
 */
export async function migrateSchema({
  db,
  traits,
}: Pick<OpenDatabase, 'db' | 'traits'>): Promise<void> {
  if (isComplete(await readSchemaState(db))) return
  await db.transaction().execute(async (transaction) => {
    if (traits.isShared) await lockMigration(transaction)
    // Another server may have made it meanwhile.
    if (!isComplete(await readSchemaState(transaction))) await makeSchema(transaction)
  })
}

/** Of PostgreSQL, until the end of the transaction. */
export async function lockMigration(transaction: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(${migrationLock}, 0)`.execute(transaction)
}

/** Makes it as a part of a transaction, so that nobody sees its tables before the commit. */
export async function makeSchema(transaction: Db): Promise<void> {
  await sql`create table if not exists kysely_migration
    (name varchar(255) not null primary key, timestamp varchar(255) not null)`.execute(transaction)
  const at = formatInstant(systemClock.now())
  for (const [name, migration] of Object.entries(migrations)) {
    await migration.up(transaction)
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${at})`.execute(
      transaction,
    )
  }
}

function isComplete({ tables, executed }: SchemaState): boolean {
  const problem = findSchemaProblem(executed)
  if (problem !== undefined) throw new Error(problem)
  if (executed.length > 0) return true
  if (tables.length === 0) return false
  throw new Error(
    `the database contains tables (${truncate(tables.join(', '))}) but no record of its schema: ` +
      'table kysely_migration is missing or empty. It is not a complete callgate database. ' +
      `Restore a backup${countLossFirst}, or move the file away and run: callgate serve --init`,
  )
}

interface SchemaState {
  /** Without the one of its migrations. */
  readonly tables: readonly string[]
  /** Names of the migrations that were run, in order. */
  readonly executed: readonly string[]
}

export async function readSchemaState(db: Db): Promise<SchemaState> {
  const all = await db.introspection.getTables({ withInternalKyselyTables: true })
  // PostgreSQL shows the tables of all schemas, which may be those of other programs.
  const own = all.filter(({ schema }) => schema === undefined || schema === 'public')
  const names = own.map(({ name }) => name)
  const tables = names.filter((name) => !name.startsWith('kysely_'))
  if (!names.includes('kysely_migration')) return { tables, executed: [] }
  const rows = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .orderBy('name')
    .execute()
  return { tables, executed: rows.map((row) => row.name) }
}
