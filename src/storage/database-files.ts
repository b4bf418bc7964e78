/** Whether a data folder has held a SQLite database before, so that none is replaced by an empty one. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { countLossFirst, DataFileError } from '../errors.js'
import { isPresent, moveIntoPlace, readWholeFile } from '../runtime/folders.js'

export const resolveDatabasePath = (dataDir: string): string => join(dataDir, 'callgate.sqlite')

/** Where a restore works until the folder is complete. */
export const resolveRestoringPath = (dataDir: string): string => join(dataDir, '.restoring')

/** Shows that the folder holds a database. It survives `rm callgate.sqlite*`. */
const resolveMarkerPath = (dataDir: string): string => join(dataDir, 'initialized')

/** The marker, which shows that the folder has held a database. Imported files show nothing: they may come first. */
export function findDatabaseEvidence(dataDir: string): string | undefined {
  const path = resolveMarkerPath(dataDir)
  return isPresent(path) ? path : undefined
}

export interface DatabaseCreationOptions {
  /** False: a database is created only with `init`. */
  readonly createDatabase: boolean
  /** Creates a database here, whatever the folder held before. */
  readonly init: boolean
}

interface ExistingDatabase {
  /** Whether there is a database with tables. */
  readonly hasContent: boolean
  /**
   * From {@link findDatabaseEvidence}, called before the database was looked at, since another process
   * may be creating both.
   */
  readonly evidence: string | undefined
}

/** Throws {@link DataFileError} if opening would create an empty database without `init`. */
export function refuseUnwantedDatabase(
  path: string,
  { hasContent, evidence }: ExistingDatabase,
  { createDatabase, init }: DatabaseCreationOptions,
): void {
  if (hasContent && init) {
    throw new DataFileError(path, 'the database exists already; start without --init')
  }
  if (hasContent || init) return
  requireRestored(dirname(path))
  const whatToDo =
    `Mount the right volume or restore a backup${countLossFirst}. To start over with an empty database and new ` +
    'keys, run: callgate serve --init'
  if (evidence !== undefined) {
    const why = `the database is missing or empty, but ${evidence} shows that this folder held one`
    throw new DataFileError(path, `${why}. ${whatToDo}`)
  }
  if (createDatabase) return
  const why = 'there is no database, and storage.createDatabase: false prevents creating one'
  throw new DataFileError(path, `${why}. ${whatToDo}`)
}

/** Throws {@link DataFileError} for a folder in which a restore was killed. */
export function requireRestored(dataDir: string): void {
  const path = resolveRestoringPath(dataDir)
  if (!isPresent(path)) return
  const why = 'a restore into this folder did not end, so its data is missing'
  throw new DataFileError(path, `${why}. Run it again: callgate restore <backup>`)
}

/** Name of the installation in the marker; `undefined` if it has none yet. */
export function readMarker(dataDir: string): string | undefined {
  const path = resolveMarkerPath(dataDir)
  if (!isPresent(path)) return undefined
  return /^installation (\w+)$/m.exec(readWholeFile(path).toString())?.[1]
}

/**
 * Writes the marker that {@link findDatabaseEvidence} looks for; it is on disk when this returns. A name that it has stays, since
 * the database may be another one.
 */
export function markInitialized(dataDir: string, installation?: string): void {
  const path = resolveMarkerPath(dataDir)
  const isComplete = installation === undefined || readMarker(dataDir) !== undefined
  if (isPresent(path) && isComplete) return
  writeMarker(dataDir, installation)
}

/** Replaces the marker. */
export function writeMarker(dataDir: string, installation: string | undefined): void {
  const path = resolveMarkerPath(dataDir)
  const name = installation === undefined ? '' : `installation ${installation}\n`
  const content = `This folder holds a callgate database. Keep this file with it.\n${name}`
  writeFileSync(`${path}.tmp`, content, { mode: 0o600, flush: true })
  moveIntoPlace(`${path}.tmp`, path)
}
