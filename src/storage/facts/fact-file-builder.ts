/**
 * Builds a fact file: rows in any order are buffered as they arrive, then sorted into the table in one
 * pass, so that the cost depends on the number of rows and not on their order. Nothing survives a crash
 * until the caller has finished, synced and renamed the file.
 */
import { copyFileSync, rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { syncFile } from '../../runtime/folders.js'
import {
  applicationId,
  type FactFileSchema,
  type FactRow,
  type FactSourceFile,
  type FactValue,
} from './fact-file-schema.js'

export interface FactFileBuilderOptions<Row extends FactRow> {
  /** The file to create; an existing one is removed. SQLite sorts in its own temporary folder. */
  readonly path: string
  readonly shape: FactFileSchema<Row>
  /** A fact file of the same shape to copy and add to; without it the new one starts empty. */
  readonly basePath?: string | undefined
}

export interface FinishOptions {
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly sources: readonly FactSourceFile[]
  readonly complete: readonly string[]
}

export interface FactCounts {
  readonly entries: number
  readonly numbers: number
}

export interface FactDifference {
  readonly added: number
  readonly changed: number
  readonly removed: number
}

/** One statement for many rows costs half as much as one for each. */
const rowsPerInsert = 40

/** Any method throws {@link DataFileError} if the disk is full or the file to add to is damaged. */
export class FactFileBuilder<Row extends FactRow> {
  readonly #path: string
  readonly #shape: FactFileSchema<Row>
  readonly #columns: readonly (keyof Row & string)[]
  readonly #connection: Sqlite.Database
  readonly #insert: Sqlite.Statement
  /** Values of rows that are not buffered in the file yet. */
  #buffer: FactValue[] = []

  constructor({ path, shape, basePath }: FactFileBuilderOptions<Row>) {
    this.#path = path
    this.#shape = shape
    this.#columns = Object.keys(shape.columns) as (keyof Row & string)[]
    this.#connection = openToWrite(path, basePath)
    try {
      this.#prepare(basePath === undefined)
      this.#insert = this.#insertStatement(rowsPerInsert)
    } catch (cause) {
      this.discard()
      throw this.#refusal(cause)
    }
  }

  add(number: PhoneNumber, row: Row): void {
    this.#buffer.push(Number(number))
    for (const column of this.#columns) this.#buffer.push(row[column] ?? null)
    if (this.#buffer.length < rowsPerInsert * (this.#columns.length + 1)) return
    this.#guard(() => this.#insert.run(this.#buffer))
    this.#buffer = []
  }

  /** Sorts the rows into the table; to be called once, after the last {@link add}. */
  merge(): FactCounts {
    this.#flush()
    const { key, newestBy } = this.#shape
    const order = ['number', ...[...key, ...(newestBy ? [newestBy] : [])].map(quoted), 'rowid']
    this.#run(
      `INSERT OR REPLACE INTO main.facts SELECT ${this.#columnList()} FROM temp.stage ` +
        `ORDER BY ${order.join(', ')}`,
    )
    this.#run('DROP TABLE temp.stage')
    return this.counts()
  }

  counts(): FactCounts {
    const one = (what: string) => Number(this.#get(`SELECT count(${what}) FROM main.facts`))
    const entries = one('*')
    return { entries, numbers: this.#shape.key.length === 0 ? entries : one('DISTINCT number') }
  }

  /** Removes the rows whose column has a lower value. Returns how many. */
  removeBelow(column: keyof Row & string, value: FactValue): number {
    const text = `DELETE FROM main.facts WHERE ${quoted(column)} < ?`
    return this.#guard(() => this.#connection.prepare(text).run(value).changes)
  }

  /** Compares, after {@link merge}, with an older file of the same shape. */
  computeDifference(older: string): FactDifference {
    const { entries } = this.counts()
    this.#run('COMMIT')
    try {
      const { before, kept, changed } = this.#guard(() => this.#compareWith(older))
      return { added: entries - kept, changed, removed: before - kept }
    } finally {
      this.#run('BEGIN')
    }
  }

  #compareWith(older: string): Record<'before' | 'kept' | 'changed', number> {
    const equal = (name: string) => `mine.${name} = old.${name}`
    const same = ['number', ...this.#shape.key.map(quoted)].map(equal).join(' AND ')
    const differs = this.#columns.map((name) => `mine."${name}" IS NOT old."${name}"`).join(' OR ')
    this.#connection.prepare('ATTACH ? AS older').run(older)
    try {
      const counts = this.#connection.prepare(
        `SELECT (SELECT count(*) FROM older.facts) AS before, count(*) AS kept, ` +
          `coalesce(sum(${differs}), 0) AS changed ` +
          `FROM older.facts AS old CROSS JOIN main.facts AS mine ON ${same}`,
      )
      return counts.get() as Record<'before' | 'kept' | 'changed', number>
    } finally {
      this.#connection.exec('DETACH older')
    }
  }

  /** Writes the metadata, closes the file and syncs it to the disk. */
  finish({ asOf, importedAt, sources, complete }: FinishOptions): void {
    const { feed } = this.#shape
    const meta = { feed, asOf, importedAt, ...this.counts(), complete: complete.join(',') }
    this.#guard(() => {
      const note = this.#connection.prepare('INSERT OR REPLACE INTO main.meta VALUES (?, ?)')
      for (const [name, value] of Object.entries(meta)) note.run(name, value)
      const source = this.#connection.prepare(
        'INSERT OR REPLACE INTO main.sources VALUES (?, ?, ?, ?)',
      )
      for (const one of sources) source.run(one.sha256, one.file, one.rows, one.asOf)
      this.#connection.exec('COMMIT')
      this.#connection.close()
      syncFile(this.#path)
    })
  }

  /** Closes and removes the file, if it is not to be used. */
  discard(): void {
    this.#connection.close()
    rmSync(this.#path, { force: true })
  }

  #insertStatement(rows: number): Sqlite.Statement {
    const row = `(${['?', ...this.#columns.map(() => '?')].join(', ')})`
    const all = new Array<string>(rows).fill(row).join(', ')
    return this.#connection.prepare(`INSERT INTO temp.stage VALUES ${all}`)
  }

  #flush(): void {
    const rows = this.#buffer.length / (this.#columns.length + 1)
    if (rows > 0) this.#guard(() => this.#insertStatement(rows).run(this.#buffer))
    this.#buffer = []
  }

  #prepare(empty: boolean): void {
    this.#connection.unsafeMode() // or there would be a journal, which nobody needs
    const settings = ['journal_mode = OFF', 'synchronous = OFF', 'locking_mode = EXCLUSIVE']
    for (const setting of [...settings, 'cache_size = -65536', 'threads = 2']) {
      this.#connection.pragma(setting)
    }
    const columns = this.#columns.map((name) => `${quoted(name)} ${this.#shape.columns[name]}`)
    const all = ['number INTEGER', ...columns]
    if (empty) this.#createTables(all)
    this.#connection.exec(`CREATE TEMP TABLE stage (${all.join(', ')}); BEGIN`)
  }

  #createTables(columns: readonly string[]): void {
    const { key, formatVersion } = this.#shape
    this.#connection.pragma(`application_id = ${applicationId}`)
    this.#connection.pragma(`user_version = ${formatVersion}`)
    const primary = `PRIMARY KEY (${['number', ...key.map(quoted)].join(', ')})`
    // With the number alone as key, it is SQLite's own row id, which is faster.
    const kind = key.length === 0 ? '' : ' WITHOUT ROWID'
    this.#connection.exec(
      `CREATE TABLE facts (${columns.join(', ')}, ${primary})${kind};` +
        'CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;' +
        'CREATE TABLE sources (sha256 TEXT PRIMARY KEY, file TEXT, rows INTEGER, as_of INTEGER)' +
        ' WITHOUT ROWID',
    )
  }

  #columnList(): string {
    return ['number', ...this.#columns.map(quoted)].join(', ')
  }

  #run(text: string): void {
    this.#guard(() => this.#connection.exec(text))
  }

  #get(text: string): unknown {
    return this.#guard(() => this.#connection.prepare(text).pluck().get())
  }

  #guard<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (cause) {
      throw this.#refusal(cause)
    }
  }

  #refusal(cause: unknown): unknown {
    if (!(cause instanceof Sqlite.SqliteError)) return cause
    return new DataFileError(this.#path, `cannot be written: ${cause.message}`, cause)
  }
}

function openToWrite(path: string, over: string | undefined): Sqlite.Database {
  try {
    rmSync(path, { force: true })
    if (over !== undefined) copyFileSync(over, path)
    return new Sqlite(path)
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `cannot be written: ${why}`, cause)
  }
}

function quoted(name: string): string {
  return `"${name}"`
}
