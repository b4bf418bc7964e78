/** Brings the schema up to this program's version, under Kysely's lock. */
import { type Migration, type MigrationProvider, Migrator, sql } from 'kysely'
import { formatInstant } from '../domain/time/dates.js'
import { countLossFirst, getErrorMessage, truncate } from '../errors.js'
import { systemClock } from '../runtime/runtime.js'
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
import * as decisions from './migrations/0011-decisions-expand.js'
import * as listVersions from './migrations/0012-list-versions-expand.js'
import * as sharedLimits from './migrations/0013-shared-limits-expand.js'
import * as edges from './migrations/0014-edges-expand.js'
import * as edgeProjects from './migrations/0015-edge-projects-expand.js'
import * as mandates from './migrations/0016-mandates-expand.js'
import * as permits from './migrations/0017-permits-expand.js'
import * as optOutStatements from './migrations/0018-opt-out-statements-expand.js'
import * as journalsSeen from './migrations/0019-journals-seen-expand.js'
import * as frequency from './migrations/0020-frequency-expand.js'
import * as placedAttempts from './migrations/0021-placed-attempts-expand.js'
import * as callerIds from './migrations/0022-caller-ids-expand.js'
import * as repeatedRequests from './migrations/0023-repeated-requests-expand.js'
import * as reassigned from './migrations/0024-reassigned-expand.js'
import * as consents from './migrations/0025-consents-expand.js'
import * as abandonmentAndCallerIds from './migrations/0026-abandonment-and-caller-ids-expand.js'
import * as optOutScopes from './migrations/0027-opt-out-scopes-expand.js'
import * as attemptPurposes from './migrations/0029-attempt-purposes-expand.js'
import * as listRights from './migrations/0030-list-rights-expand.js'
import * as optOutGoods from './migrations/0033-opt-out-goods-expand.js'
import * as reportedCalls from './migrations/0034-reported-calls-expand.js'
import * as audit from './migrations/0035-audit-expand.js'
import * as decisionBlocks from './migrations/0036-decision-blocks-expand.js'
import * as recordHistory from './migrations/0039-record-history-expand.js'
import * as consoleSessions from './migrations/0044-console-sessions-expand.js'
import * as people from './migrations/0048-people-expand.js'
import * as changeRequests from './migrations/0050-change-requests-expand.js'
import * as keyUses from './migrations/0052-key-uses-expand.js'
import * as platformEvents from './migrations/0053-platform-events-expand.js'
import * as twoPeople from './migrations/0054-two-people-expand.js'
import * as lastRecords from './migrations/0055-last-records-expand.js'
import type { EngineTraits, OpenDatabase } from './open-database.js'
import { limitLockWaits, lockMigration, readConnectedSchemas } from './postgres/schema-locks.js'
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
  '0011-decisions-expand': decisions,
  '0012-list-versions-expand': listVersions,
  '0013-shared-limits-expand': sharedLimits,
  '0014-edges-expand': edges,
  '0015-edge-projects-expand': edgeProjects,
  '0016-mandates-expand': mandates,
  '0017-permits-expand': permits,
  '0018-opt-out-statements-expand': optOutStatements,
  '0019-journals-seen-expand': journalsSeen,
  '0020-frequency-expand': frequency,
  '0021-placed-attempts-expand': placedAttempts,
  '0022-caller-ids-expand': callerIds,
  '0023-repeated-requests-expand': repeatedRequests,
  '0024-reassigned-expand': reassigned,
  '0025-consents-expand': consents,
  '0026-abandonment-and-caller-ids-expand': abandonmentAndCallerIds,
  '0027-opt-out-scopes-expand': optOutScopes,
  '0029-attempt-purposes-expand': attemptPurposes,
  '0030-list-rights-expand': listRights,
  '0033-opt-out-goods-expand': optOutGoods,
  '0034-reported-calls-expand': reportedCalls,
  '0035-audit-expand': audit,
  '0036-decision-blocks-expand': decisionBlocks,
  '0039-record-history-expand': recordHistory,
  '0044-console-sessions-expand': consoleSessions,
  '0048-people-expand': people,
  '0050-change-requests-expand': changeRequests,
  '0052-key-uses-expand': keyUses,
  '0053-platform-events-expand': platformEvents,
  '0054-two-people-expand': twoPeople,
  '0055-last-records-expand': lastRecords,
}

/** In order. */
export const knownMigrations: readonly string[] = Object.keys(migrations)

/**
 * Several servers of different versions may use a shared database. A migration named `-expand` leaves what programs that do not
 * know it read and write as it was. One named `-contract` removes what only they need. The names of those that were run are in the
 * database, so programs that do not know them can tell.
 */
const isExpand = (name: string) => name.endsWith('-expand')
const isContract = (name: string) => name.endsWith('-contract')

const numberOf = (name: string) => Number.parseInt(name, 10)

/** Of the newest migration that this program knows. */
export const schemaNumber = numberOf(knownMigrations.at(-1) ?? '')

/** Why this program cannot use a database in which these migrations were run, for people. */
export function findNewerSchema(
  executed: readonly string[],
  { isShared }: Pick<EngineTraits, 'isShared'>,
): string | undefined {
  const unknown = executed.filter((name) => !knownMigrations.includes(name))
  const newer = isShared ? unknown.filter((name) => !isExpand(name)) : unknown
  if (newer.length === 0) return undefined
  return (
    `the database has a newer schema than this program knows (${newer.join(', ')}). ` +
    `Install the callgate version that wrote it, or a newer one, or restore a backup of this version${countLossFirst}`
  )
}

/**
 * Runs the missing migrations, and returns those `-contract` that have to wait, since servers of an older version are connected.
 * Throws, and changes nothing, if the database was written by a newer program whose schema this one cannot use, has no
 * record of its migrations, or if such a server would have to be stopped first. Messages are for people.
 */
export async function migrateSchema({
  db,
  traits,
}: Pick<OpenDatabase, 'db' | 'traits'>): Promise<readonly string[]> {
  const { tables, executed } = await readSchemaState(db)
  const newer = findNewerSchema(executed, traits)
  if (newer !== undefined) throw new Error(newer)
  if (executed.length === 0 && tables.length > 0) {
    throw new Error(
      `the database contains tables (${truncate(tables.join(', '))}) but no record of its schema: ` +
        'table kysely_migration is missing or empty. It is not a complete callgate database. ' +
        `Restore a backup${countLossFirst}, or move the file away and run: callgate serve --init`,
    )
  }
  const pending = knownMigrations.filter((name) => !executed.includes(name))
  const connected = traits.isShared ? await readConnectedSchemas(db) : []
  const { now, later } = planMigrations(pending, connected)
  const last = now.at(-1)
  if (last === undefined) return later
  const wanted = Object.fromEntries(
    Object.entries(migrations).filter(([name]) => !later.includes(name)),
  )
  const provider: MigrationProvider = {
    getMigrations: async () => (traits.isShared ? guardMigrations(wanted) : wanted),
  }
  const { error } = await new Migrator({ db, provider }).migrateToLatest()
  if (!error) return later
  const why = getErrorMessage(error)
  throw new Error(
    `the database schema could not be updated from ${executed.at(-1) ?? 'empty'} to ` +
      `${last}: ${why}. Restore a backup${countLossFirst}, or run the callgate version that created the database`,
    { cause: error },
  )
}

/** Runs migrations as a part of a transaction, so that nobody sees their tables before its commit. */
export async function runMigrations(transaction: Db, names: readonly string[]): Promise<void> {
  await sql`create table if not exists kysely_migration
    (name varchar(255) not null primary key, timestamp varchar(255) not null)`.execute(transaction)
  for (const name of names) {
    await migrations[name]?.up(transaction)
    const at = formatInstant(systemClock.now())
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${at})`.execute(
      transaction,
    )
  }
}

interface MigrationPlan {
  readonly now: readonly string[]
  readonly later: readonly string[]
}

/** `connected` are the schema numbers of the servers that are. */
function planMigrations(pending: readonly string[], connected: readonly number[]): MigrationPlan {
  const isBlocked = (name: string) =>
    !isExpand(name) && connected.some((number) => number < numberOf(name))
  const first = pending.findIndex(isBlocked)
  if (first < 0) return { now: pending, later: [] }
  const later = pending.slice(first)
  if (later.every(isContract)) return { now: pending.slice(0, first), later }
  throw new Error(describeOlderServers(later[0] ?? ''))
}

function describeOlderServers(name: string): string {
  return (
    `the database schema cannot be updated to ${name} while servers of an older version are connected. ` +
    'Stop them first; in pg_stat_activity they are named callgate changes'
  )
}

/** A server may have connected since the plan was made; from here to the commit, none can. */
function guardMigrations(all: Readonly<Record<string, Migration>>): Record<string, Migration> {
  const guarded = Object.entries(all).map(([name, migration]) => {
    const up: Migration['up'] = async (db) => {
      await limitLockWaits(db)
      if (!isExpand(name)) {
        await lockMigration(db)
        const connected = await readConnectedSchemas(db)
        if (connected.some((number) => number < numberOf(name)))
          throw new Error(describeOlderServers(name))
      }
      await migration.up(db)
    }
    return [name, { ...migration, up }] as const
  })
  return Object.fromEntries(guarded)
}

interface SchemaState {
  /** Without Kysely's own. */
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
