/**
 * The files of the SQLite database on disk: whether they are still the ones that were opened, and
 * whether a data folder has held a database before.
 */
import {
  type BigIntStats,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DataFileError } from '../errors.js'
import { syncFolder } from '../folders.js'

export const databasePath = (dataDir: string): string => join(dataDir, 'callgate.sqlite')

/** Says that the folder holds a database. It outlives `rm callgate.sqlite*`. */
const markerPath = (dataDir: string): string => join(dataDir, 'initialized')

/**
 * The file that shows that the folder has held a database: the marker, or the lock file of a server,
 * for folders of versions that wrote no marker.
 */
export const evidenceIn = (dataDir: string): string | undefined =>
  [markerPath(dataDir), join(dataDir, 'serving.lock')].find((path) => existsSync(path))

export interface MayCreate {
  /** False: a database is made on request only. */
  readonly createDatabase: boolean
  /** The request: make a database here, whatever the folder held before. */
  readonly init: boolean
}

interface Found {
  /** Whether there is a database with tables. */
  readonly hasContent: boolean
  /** As {@link evidenceIn} gave it before that was looked at: another process may be making both. */
  readonly evidence: string | undefined
}

/** Throws {@link DataFileError} when opening would make a new, empty database without being asked to. */
export function refuseUnwantedDatabase(
  path: string,
  { hasContent, evidence }: Found,
  { createDatabase, init }: MayCreate,
): void {
  if (hasContent && init) {
    throw new DataFileError(path, 'the database exists already; start without --init')
  }
  if (hasContent || init) return
  const whatToDo =
    'Restore a backup or mount the right volume. To start over with an empty database and new ' +
    'keys, run: callgate serve --init'
  if (evidence !== undefined) {
    const why = `the database is missing or empty, but ${evidence} shows that this folder held one`
    throw new DataFileError(path, `${why}. ${whatToDo}`)
  }
  if (createDatabase) return
  const why = 'there is no database, and storage.createDatabase: false forbids making one'
  throw new DataFileError(path, `${why}. ${whatToDo}`)
}

/** Writes the marker that {@link refuseUnwantedDatabase} looks for, on disk when this returns. */
export function markInitialized(dataDir: string): void {
  const path = markerPath(dataDir)
  if (existsSync(path)) return
  const file = openSync(path, 'w', 0o600)
  try {
    writeSync(file, 'This folder holds a callgate database. Keep this file with it.\n')
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  syncFolder(dataDir)
}

/** Whether there is a file at the path with anything in it. */
export function hasBytes(path: string): boolean {
  return (statOf(path)?.size ?? 0n) > 0n
}

interface WatchedFile {
  readonly path: string
  readonly identity: string | undefined
}

/**
 * The open files of a database, compared with what their paths name now. SQLite keeps writing to a
 * file that was removed or replaced, and reports success. Files are never opened here: closing one
 * would drop SQLite's locks on it.
 */
export class OpenFiles {
  readonly #files: readonly WatchedFile[]
  #size: bigint

  /** To be called once the database has been read, which makes the `-wal` and `-shm` files. */
  constructor(path: string) {
    this.#files = [path, `${path}-wal`, `${path}-shm`].map((one) => ({
      path: one,
      identity: identityOf(statOf(one)),
    }))
    this.#size = statOf(path)?.size ?? 0n
  }

  /**
   * The first path that no longer names the file that was opened, or the database if it is empty;
   * and whether the database is smaller than at the last look: by a VACUUM, or because it was cut off.
   */
  look(): { readonly lost: string | undefined; readonly hasShrunk: boolean } {
    const found = this.#files.map(({ path }) => statOf(path))
    const size = found[0]?.size ?? 0n
    const lost =
      size === 0n
        ? this.#files[0]
        : this.#files.find(({ identity }, index) => identityOf(found[index]) !== identity)
    if (lost) return { lost: lost.path, hasShrunk: false }
    const hasShrunk = size < this.#size
    this.#size = size
    return { lost: undefined, hasShrunk }
  }
}

function identityOf(found: BigIntStats | undefined): string | undefined {
  return found && `${found.dev}:${found.ino}`
}

/** `undefined` too where the path cannot be looked at: what cannot be seen may be gone. */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
