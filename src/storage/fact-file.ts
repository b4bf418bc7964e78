/**
 * Files of imported facts about telephone numbers: one SQLite file a feed, made once and only read
 * afterwards. What is in the rows is the feed's business; where files lie and how they replace one
 * another is left to `data/facts/`. With `sqlite.ts` the door to better-sqlite3.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { Instant } from '../domain/clock.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { DataFileError } from '../errors.js'
import { applicationId, type FactRow, type FactShape, type FactSource } from './fact-shape.js'

/** What a file says of itself. */
export interface FactFileInfo {
  readonly feed: string
  /** Rows, of which a number may have several. */
  readonly entries: number
  /** Different numbers. */
  readonly numbers: number
  /** When the content was true. */
  readonly asOf: Instant
  readonly importedAt: Instant
  /** Sources for which a number without a row is a fact as well; see the feed. */
  readonly complete: readonly string[]
}

export interface FactFile<Row extends FactRow> {
  readonly path: string
  readonly info: FactFileInfo
  /**
   * What is known of a number: one look into the file, without leaving the thread. Throws
   * {@link DataFileError} when the file turns out to be damaged, and from then on `damage` says so.
   */
  rows(number: PhoneNumber): readonly Row[]
  /** The files it was made of. */
  sources(): readonly FactSource[]
  readonly damage: string | undefined
  close(): void
}

/**
 * Opens a file for reading, at the cost of a few pages: a file of another kind, feed or version and
 * one that was cut off are refused with {@link DataFileError}. Nobody may write it from then on.
 */
export function openFactFile<Row extends FactRow>(
  path: string,
  shape: FactShape<Row>,
): FactFile<Row> {
  refuseCutOff(path)
  return guarded(path, () => {
    const connection = connectReadOnly(path)
    try {
      return new OpenFactFile<Row>(path, connection, shape)
    } catch (cause) {
      connection.close()
      throw cause
    }
  })
}

/** Reads every page. Throws {@link DataFileError} unless the file is whole and holds `entries`. */
export function verifyFactFile(path: string, entries: number): void {
  refuseCutOff(path)
  guarded(path, () => {
    const connection = connectReadOnly(path)
    try {
      const verdict = connection.pragma('quick_check(1)', { simple: true })
      const found = connection.prepare('SELECT count(*) FROM facts').pluck().get()
      if (verdict === 'ok' && found === entries) return
      throw new DataFileError(path, `reads back other than it was written (${String(verdict)})`)
    } finally {
      connection.close()
    }
  })
}

/**
 * Keeps a second import of the same file out until `release` or the end of the process, however it
 * ends. Throws {@link DataFileError} when another one is under way.
 */
export function lockForImport(path: string): { release(): void } {
  const lock = guarded(path, () => new Sqlite(path, { timeout: 0 }))
  try {
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
    return { release: () => void lock.close() }
  } catch (cause) {
    lock.close()
    throw new DataFileError(path, 'another import of this feed is under way', cause)
  }
}

class OpenFactFile<Row extends FactRow> implements FactFile<Row> {
  readonly path: string
  readonly info: FactFileInfo
  readonly #connection: Sqlite.Database
  readonly #ofNumber: Sqlite.Statement
  #damage: string | undefined

  constructor(path: string, connection: Sqlite.Database, shape: FactShape<Row>) {
    this.path = path
    this.#connection = connection
    refuseOtherKind(path, connection, shape)
    this.info = infoOf(path, connection)
    this.#ofNumber = connection.prepare(queryOf(shape))
  }

  get damage(): string | undefined {
    return this.#damage
  }

  rows(number: PhoneNumber): readonly Row[] {
    try {
      return this.#ofNumber.all(Number(number)) as Row[]
    } catch (cause) {
      const error = new DataFileError(this.path, `is damaged; import it again: ${textOf(cause)}`)
      this.#damage = error.message
      throw error
    }
  }

  sources(): readonly FactSource[] {
    const statement = this.#connection.prepare(
      'SELECT file, sha256, rows, as_of AS asOf FROM sources ORDER BY as_of, file',
    )
    return guarded(this.path, () => statement.all() as FactSource[])
  }

  close(): void {
    this.#connection.close()
  }
}

function queryOf({ columns, key, most }: FactShape<FactRow>): string {
  const names = Object.keys(columns).map((name) => `"${name}"`)
  const query = `SELECT ${names.join(', ')} FROM facts WHERE number = ?`
  if (most === undefined) return query
  return `${query} ORDER BY ${key.map((name) => `"${name}" DESC`).join(', ')} LIMIT ${most}`
}

/** The file never changes while it is open: its lock is taken once and kept, not at each look. */
function connectReadOnly(path: string): Sqlite.Database {
  const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
  connection.pragma('locking_mode = EXCLUSIVE')
  return connection
}

function refuseOtherKind(
  path: string,
  connection: Sqlite.Database,
  { feed, formatVersion }: FactShape<FactRow>,
): void {
  const number = (pragma: string) => connection.pragma(pragma, { simple: true })
  if (number('application_id') !== applicationId) {
    throw new DataFileError(path, 'is no file of imported facts')
  }
  const held = metaOf(connection).get('feed')
  if (held !== feed) throw new DataFileError(path, `holds '${String(held)}', not '${feed}'`)
  const version = number('user_version')
  if (version === formatVersion) return
  throw new DataFileError(
    path,
    `has format version ${String(version)}; this program reads ${formatVersion}. Import it again`,
  )
}

function metaOf(connection: Sqlite.Database): ReadonlyMap<string, unknown> {
  const rows = connection.prepare('SELECT name, value FROM meta').raw().all()
  return new Map(rows as [string, unknown][])
}

function infoOf(path: string, connection: Sqlite.Database): FactFileInfo {
  const meta = metaOf(connection)
  const number = (name: string): number => {
    const value = meta.get(name)
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw new DataFileError(path, `is damaged: it does not say its ${name}`)
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

/** SQLite itself notices a missing page only when it is asked for it. */
function refuseCutOff(path: string): void {
  const handle = openSync(path, 'r')
  try {
    const start = Buffer.alloc(100)
    const read = readSync(handle, start, 0, start.length, 0)
    if (read < start.length || start.toString('latin1', 0, 16) !== 'SQLite format 3\0') {
      throw new DataFileError(path, 'is no file of imported facts, or was cut off at the start')
    }
    const pageSize = start.readUInt16BE(16) === 1 ? 65_536 : start.readUInt16BE(16)
    const expected = pageSize * start.readUInt32BE(28)
    const { size } = fstatSync(handle)
    if (size === expected) return
    throw new DataFileError(path, `is damaged or cut off: ${size} bytes instead of ${expected}`)
  } finally {
    closeSync(handle)
  }
}

function guarded<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof DataFileError) throw cause
    throw new DataFileError(path, `cannot be used: ${textOf(cause)}`, cause)
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
