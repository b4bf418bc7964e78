/**
 * Files of imported facts about telephone numbers: one SQLite file per feed, written once and then only
 * read. The feed defines the rows; `data/facts/` decides where files are and how they replace each other.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import {
  applicationId,
  type FactFileSchema,
  type FactRow,
  type FactSourceFile,
} from './fact-file-schema.js'

/** The metadata of a file. */
export interface FactFileInfo {
  readonly feed: string
  /** Number of rows; a number may have several. */
  readonly entries: number
  /** Different numbers. */
  readonly numbers: number
  /** When the content was true. */
  readonly asOf: Instant
  readonly importedAt: Instant
  /** Sources for which the absence of a row is a fact as well; see the feed. */
  readonly complete: readonly string[]
}

export interface FactFile<Row extends FactRow> {
  readonly path: string
  readonly info: FactFileInfo
  /**
   * The rows of a number, read synchronously. Throws {@link DataFileError} if the file is damaged, and
   * `damage` is set from then on.
   */
  findRows(number: PhoneNumber): readonly Row[]
  /** The files it was imported from. */
  listSources(): readonly FactSourceFile[]
  readonly damage: string | undefined
  close(): void
}

/**
 * Opens a file for reading, which reads only a few pages. Throws {@link DataFileError} for a file of
 * another kind, feed or version, and for a truncated one. Nobody may write to it from then on.
 */
export function openFactFile<Row extends FactRow>(
  path: string,
  shape: FactFileSchema<Row>,
): FactFile<Row> {
  refuseTruncated(path)
  return withFileErrors(path, () => {
    const connection = connectReadOnly(path)
    try {
      return new OpenFactFile<Row>(path, connection, shape)
    } catch (cause) {
      connection.close()
      throw cause
    }
  })
}

/** Reads every page. Throws {@link DataFileError} unless the file is intact and has `entries` rows. */
export function verifyFactFile(path: string, entries: number): void {
  refuseTruncated(path)
  withFileErrors(path, () => {
    const connection = connectReadOnly(path)
    try {
      const verdict = connection.pragma('quick_check(1)', { simple: true })
      const found = connection.prepare('SELECT count(*) FROM facts').pluck().get()
      if (verdict === 'ok' && found === entries) return
      const problem =
        verdict === 'ok' ? `${String(found)} rows instead of ${entries}` : String(verdict)
      throw new DataFileError(path, `is not what was written: ${problem}; import it again`)
    } finally {
      connection.close()
    }
  })
}

/**
 * Prevents a second import of the same file until `release` or the end of the process, however it
 * ends. Throws {@link DataFileError} if another import is running.
 */
export function lockFactFile(path: string): { release(): void } {
  const lock = withFileErrors(path, () => new Sqlite(path, { timeout: 0 }))
  try {
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
    return { release: () => void lock.close() }
  } catch (cause) {
    lock.close()
    throw new DataFileError(
      path,
      'another import of this feed is running; wait until it has finished',
      cause,
    )
  }
}

class OpenFactFile<Row extends FactRow> implements FactFile<Row> {
  readonly path: string
  readonly info: FactFileInfo
  readonly #connection: Sqlite.Database
  readonly #ofNumber: Sqlite.Statement
  #damage: string | undefined

  constructor(path: string, connection: Sqlite.Database, shape: FactFileSchema<Row>) {
    this.path = path
    this.#connection = connection
    refuseOtherKind(path, connection, shape)
    this.info = readInfo(path, connection)
    this.#ofNumber = connection.prepare(buildQuery(shape))
  }

  get damage(): string | undefined {
    return this.#damage
  }

  findRows(number: PhoneNumber): readonly Row[] {
    try {
      return this.#ofNumber.all(Number(number)) as Row[]
    } catch (cause) {
      const error = new DataFileError(this.path, `is damaged; import it again: ${textOf(cause)}`)
      this.#damage = error.message
      throw error
    }
  }

  listSources(): readonly FactSourceFile[] {
    const statement = this.#connection.prepare(
      'SELECT file, sha256, rows, as_of AS asOf FROM sources ORDER BY as_of, file',
    )
    return withFileErrors(this.path, () => statement.all() as FactSourceFile[])
  }

  close(): void {
    this.#connection.close()
  }
}

function buildQuery({ columns, key, maxRows }: FactFileSchema<FactRow>): string {
  const names = Object.keys(columns).map((name) => `"${name}"`)
  const query = `SELECT ${names.join(', ')} FROM facts WHERE number = ?`
  if (maxRows === undefined) return query
  return `${query} ORDER BY ${key.map((name) => `"${name}" DESC`).join(', ')} LIMIT ${maxRows}`
}

/** The file never changes while it is open, so its lock is taken once and not for each read. */
function connectReadOnly(path: string): Sqlite.Database {
  const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
  connection.pragma('locking_mode = EXCLUSIVE')
  return connection
}

function refuseOtherKind(
  path: string,
  connection: Sqlite.Database,
  { feed, formatVersion }: FactFileSchema<FactRow>,
): void {
  const number = (pragma: string) => connection.pragma(pragma, { simple: true })
  if (number('application_id') !== applicationId) {
    throw new DataFileError(path, 'was not written by callgate import; import it again')
  }
  const found = readMeta(connection).get('feed')
  if (found !== feed) {
    throw new DataFileError(path, `contains feed '${String(found)}' instead of '${feed}'`)
  }
  const version = number('user_version')
  if (version === formatVersion) return
  throw new DataFileError(
    path,
    `has format version ${String(version)}; this program reads ${formatVersion}. Import it again`,
  )
}

function readMeta(connection: Sqlite.Database): ReadonlyMap<string, unknown> {
  const rows = connection.prepare('SELECT name, value FROM meta').raw().all()
  return new Map(rows as [string, unknown][])
}

function readInfo(path: string, connection: Sqlite.Database): FactFileInfo {
  const meta = readMeta(connection)
  const number = (name: string): number => {
    const value = meta.get(name)
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw new DataFileError(path, `is damaged: '${name}' is missing; import it again`)
  }
  const complete = String(meta.get('complete') ?? '')
  return {
    feed: String(meta.get('feed')),
    entries: number('entries'),
    numbers: number('numbers'),
    asOf: number('asOf'),
    importedAt: number('importedAt'),
    complete: complete === '' ? [] : complete.split(','),
  }
}

/** SQLite notices a missing page only when it reads it. */
function refuseTruncated(path: string): void {
  const handle = openSync(path, 'r')
  try {
    const start = Buffer.alloc(100)
    const read = readSync(handle, start, 0, start.length, 0)
    if (read < start.length || start.toString('latin1', 0, 16) !== 'SQLite format 3\0') {
      throw new DataFileError(
        path,
        'was not written by callgate import, or is truncated; import it again',
      )
    }
    const pageSize = start.readUInt16BE(16) === 1 ? 65_536 : start.readUInt16BE(16)
    const expected = pageSize * start.readUInt32BE(28)
    const { size } = fstatSync(handle)
    if (size === expected) return
    throw new DataFileError(
      path,
      `is damaged or truncated: ${size} bytes instead of ${expected}; import it again`,
    )
  } finally {
    closeSync(handle)
  }
}

function withFileErrors<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof DataFileError) throw cause
    throw new DataFileError(path, `cannot be used: ${textOf(cause)}`, cause)
  }
}

function textOf(cause: unknown): string {
  return getErrorMessage(cause)
}
