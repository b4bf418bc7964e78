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
  readSync,
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
 * for folders of versions that wrote no marker. Imported files show nothing: they may come first.
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
  readonly #log: number | undefined
  #size: bigint

  /** To be called once the database has been read, which makes the `-wal` and `-shm` files. */
  constructor(path: string) {
    this.#files = [path, `${path}-wal`, `${path}-shm`].map((one) => ({
      path: one,
      identity: identityOf(statOf(one)),
    }))
    this.#size = statOf(path)?.size ?? 0n
    // Where the file system does not take the WAL mode there is none.
    const log = `${path}-wal`
    this.#log = existsSync(log) ? openSync(log, 'r') : undefined
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
        : (this.#files.find(({ identity }, index) => identityOf(found[index]) !== identity) ??
          (this.#hasLogLostItsStart() ? this.#files[1] : undefined))
    if (lost) return { lost: lost.path, hasShrunk: false }
    const hasShrunk = size < this.#size
    this.#size = size
    return { lost: undefined, hasShrunk }
  }

  close(): void {
    if (this.#log !== undefined) closeSync(this.#log)
  }

  /**
   * The `-wal` file was emptied and written to again: SQLite goes on where it was, and the next start
   * ignores a file without the header. A checkpoint may empty it; what follows begins with a header.
   */
  #hasLogLostItsStart(): boolean {
    if (this.#log === undefined) return false
    const start = Buffer.alloc(4)
    const read = readSync(this.#log, start, 0, start.length, 0)
    return read > 0 && (start.readUInt32BE(0) & ~1) !== walMagic
  }
}

/** Of the SQLite file format; its last bit tells the order of bytes in checksums. */
const walMagic = 0x377f0682

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
