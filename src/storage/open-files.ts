/**
 * Whether the files of an open database are still the ones that were opened. SQLite keeps writing to a
 * file that was removed or replaced, and reports success.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { getErrorCode } from '../errors.js'

/** A file of the database as it was when the database was opened. */
export interface OpenedFile {
  readonly path: string
  /** Device and inode; absent if there was no such file. */
  readonly identity: string | undefined
}

export interface LostFile {
  readonly path: string
  /** Why it cannot be looked at; `undefined` if it was and is another one, or empty. */
  readonly cause: unknown
}

/** The database itself, its `-wal` file and its `-shm` file. */
export function listDatabaseFiles(path: string): readonly OpenedFile[] {
  return [path, `${path}-wal`, `${path}-shm`].map((one) => ({
    path: one,
    identity: inspectFile(one).identity,
  }))
}

/**
 * Compares what the paths name now with the files that were opened. They are never opened for that:
 * closing one would release SQLite's locks on it. The `-wal` file has no locks.
 */
export class OpenFiles {
  readonly #files: readonly OpenedFile[]
  /** Of the `-wal` file. There is none if the file system does not support the WAL mode. */
  readonly #logDescriptor: number | undefined
  #size = 0n

  /** With an empty list, nothing is ever lost. */
  constructor(files: readonly OpenedFile[]) {
    this.#files = files
    const log = files[1]
    this.#logDescriptor = log?.identity === undefined ? undefined : openIfPresent(log.path)
    this.#size = files[0] ? inspectFile(files[0].path).size : 0n
  }

  /** A file that was removed, replaced or emptied, or that cannot be looked at. Never throws: its caller may have written already. */
  findLost(): LostFile | undefined {
    for (const { path, identity } of this.#files) {
      const { cause, ...found } = inspectFile(path)
      const isEmptied = path === this.#files[0]?.path && found.size === 0n
      if (found.identity !== identity || isEmptied) return { path, cause }
    }
    const path = this.#files[1]?.path ?? ''
    try {
      return this.#isLogTruncated() ? { path, cause: undefined } : undefined
    } catch (cause) {
      return { path, cause }
    }
  }

  /** Whether the database has become smaller since the last call, by a VACUUM or by damage. */
  hasShrunk(): boolean {
    const [database] = this.#files
    if (!database) return false
    const { size, cause } = inspectFile(database.path)
    if (cause !== undefined) return false
    const isSmaller = size < this.#size
    this.#size = size
    return isSmaller
  }

  close(): void {
    if (this.#logDescriptor !== undefined) closeSync(this.#logDescriptor)
  }

  /**
   * Whether the `-wal` file was emptied and written to again: SQLite continues where it was, and the
   * next start ignores a file without the header. A checkpoint may empty it; what follows begins with a
   * header.
   */
  #isLogTruncated(): boolean {
    if (this.#logDescriptor === undefined) return false
    const start = Buffer.alloc(4)
    const read = readSync(this.#logDescriptor, start, 0, start.length, 0)
    return read > 0 && (start.readUInt32BE(0) & ~1) !== walMagic
  }
}

/** From the SQLite file format; the last bit is the byte order of checksums. */
const walMagic = 0x377f0682

function openIfPresent(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    // It is reported as lost, since its identity has changed.
    return undefined
  }
}

/** A file that cannot be looked at may be gone, so it has no identity either. */
export function inspectFile(path: string): {
  readonly identity: string | undefined
  readonly size: bigint
  /** Why it cannot be looked at. */
  readonly cause?: unknown
} {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (found) return { identity: `${found.dev}:${found.ino}`, size: found.size }
  } catch (cause) {
    // Something else may be where its folder was.
    if (getErrorCode(cause) !== 'ENOTDIR') return { identity: undefined, size: 0n, cause }
  }
  return { identity: undefined, size: 0n }
}
