/** Brings the schema up to this program's version, under Kysely's lock. */
import { type Migration, type MigrationProvider, Migrator } from 'kysely'
import { getErrorMessage, truncate } from '../errors.js'
import * as initial from './migrations/0001-initial.js'
import * as callOutcomes from './migrations/0002-call-outcomes.js'
import * as wholeService from './migrations/0003-whole-service.js'
import * as changeSequence from './migrations/0004-change-sequence.js'
import * as keyRights from './migrations/0005-key-rights.js'
import * as scrubTerms from './migrations/0006-scrub-terms.js'
import * as importedRecords from './migrations/0007-imported-records.js'
import * as erasures from './migrations/0008-erasures.js'
import * as commandWrites from './migrations/0009-command-writes.js'
import * as changes from './migrations/0010-changes.js'
import * as sharedLimits from './migrations/0013-shared-limits.js'
import type { Db } from './tables.js'

const migrations: Readonly<Record<string, Migration>> = {
  '0001-initial': initial,
  '0002-call-outcomes': callOutcomes,
  '0003-whole-service': wholeService,
  '0004-change-sequence': changeSequence,
  '0005-key-rights': keyRights,
  '0006-scrub-terms': scrubTerms,
  '0007-imported-records': importedRecords,
  '0008-erasures': erasures,
  '0009-command-writes': commandWrites,
  '0010-changes': changes,
  '0013-shared-limits': sharedLimits,
}

/** In order. */
export const knownMigrations: readonly string[] = Object.keys(migrations)

const provider: MigrationProvider = { getMigrations: async () => ({ ...migrations }) }

/**
 * Runs the missing migrations. Throws, and changes nothing, if the database was written by a newer
 * program, or has no record of its migrations. Messages are for people.
 */
export async function migrateSchema(db: Db): Promise<void> {
  const { tables, executed } = await readSchemaState(db)
  const newer = executed.filter((name) => !knownMigrations.includes(name))
  if (newer.length > 0) {
    throw new Error(
      `the database has a newer schema than this program knows (${newer.join(', ')}). ` +
        'Install the callgate version that wrote it, or a newer one, or restore a backup of this version',
    )
  }
  if (executed.length === 0 && tables.length > 0) {
    throw new Error(
      `the database contains tables (${truncate(tables.join(', '))}) but no record of its schema: ` +
        'table kysely_migration is missing or empty. It is not a complete callgate database. ' +
        'Restore a backup, or move the file away and run: callgate serve --init',
    )
  }
  const { error } = await new Migrator({ db, provider }).migrateToLatest()
  if (!error) return
  const why = getErrorMessage(error)
  throw new Error(
    `the database schema could not be updated from ${executed.at(-1) ?? 'empty'} to ` +
      `${knownMigrations.at(-1)}: ${why}. Restore a backup, or run the callgate version that created the database`,
    { cause: error },
  )
}

interface SchemaState {
  /** Without Kysely's own. */
  readonly tables: readonly string[]
  /** Names of the migrations that were run, in order. */
  readonly executed: readonly string[]
}

async function readSchemaState(db: Db): Promise<SchemaState> {
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
