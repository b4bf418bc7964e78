/** Brings the schema up to this program's version, under Kysely's lock. */
import { type Migration, type MigrationProvider, Migrator } from 'kysely'
import * as initial from './migrations/0001-initial.js'
import * as callOutcomes from './migrations/0002-call-outcomes.js'
import * as wholeService from './migrations/0003-whole-service.js'
import * as changeSequence from './migrations/0004-change-sequence.js'
import type { Db } from './tables.js'

const migrations: Readonly<Record<string, Migration>> = {
  '0001-initial': initial,
  '0002-call-outcomes': callOutcomes,
  '0003-whole-service': wholeService,
  '0004-change-sequence': changeSequence,
}

const provider: MigrationProvider = { getMigrations: async () => ({ ...migrations }) }

/**
 * Runs the missing migrations. Throws, and changes nothing, when the database was written by a
 * newer program whose migrations this one does not know.
 */
export async function migrate(db: Db): Promise<void> {
  const migrator = new Migrator({ db, provider })
  const unknown = (await migrator.getMigrations()).length < (await executedNames(db)).length
  if (unknown) {
    throw new Error(
      'the database has a newer schema than this program knows; install the newer callgate',
    )
  }
  const { error } = await migrator.migrateToLatest()
  if (error) throw new Error('the database schema could not be updated', { cause: error })
}

async function executedNames(db: Db): Promise<readonly string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return []
  const rows = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .execute()
  return rows.map((row) => row.name)
}
