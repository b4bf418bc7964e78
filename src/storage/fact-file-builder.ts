/**
 * Makes a fact file: rows in any order are put aside as they come, then sorted into the table in
 * one pass, so that its cost grows with the number of rows and not with their disorder. Nothing is
 * safe from a crash until the file is finished, synchronised and renamed by the caller.
 */
import { closeSync, copyFileSync, fsyncSync, openSync, rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { Instant } from '../domain/clock.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { DataFileError } from '../errors.js'
import {
  applicationId,
  type FactRow,
  type FactShape,
  type FactSource,
  type FactValue,
} from './fact-shape.js'

export interface BuilderOptions<Row extends FactRow> {
  /** The file to be made; what is there is removed. SQLite sorts in its own temporary folder. */
  readonly path: string
  readonly shape: FactShape<Row>
  /** A fact file of the same shape to add to, left as it is; without it the new one begins empty. */
  readonly over?: string | undefined
}

export interface FinishOptions {
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly sources: readonly FactSource[]
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

/** A statement for many rows costs half of one for each. */
const rowsAtOnce = 40

/** Any method throws {@link DataFileError} when the disk is full or the file to add to is damaged. */
export class FactFileBuilder<Row extends FactRow> {
  readonly #path: string
  readonly #shape: FactShape<Row>
  readonly #columns: readonly (keyof Row & string)[]
  readonly #connection: Sqlite.Database
  readonly #insert: Sqlite.Statement
  /** Values of rows that are not put aside yet. */
  #waiting: FactValue[] = []

  constructor({ path, shape, over }: BuilderOptions<Row>) {
    this.#path = path
    this.#shape = shape
    this.#columns = Object.keys(shape.columns) as (keyof Row & string)[]
    this.#connection = openToWrite(path, over)
    try {
      this.#prepare(over === undefined)
      this.#insert = this.#inserting(rowsAtOnce)
    } catch (cause) {
      this.discard()
      throw this.#refusal(cause)
    }
  }

  add(number: PhoneNumber, row: Row): void {
    this.#waiting.push(Number(number))
    for (const column of this.#columns) this.#waiting.push(row[column] ?? null)
    if (this.#waiting.length < rowsAtOnce * (this.#columns.length + 1)) return
    this.#guard(() => this.#insert.run(this.#waiting))
    this.#waiting = []
  }

  /** Sorts the rows in; to be called once, after the last {@link add}. */
  merge(): FactCounts {
    this.#putAsideRest()
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

  /** Removes the rows whose column has a lower value. Gives how many there were. */
  removeBelow(column: keyof Row & string, value: FactValue): number {
    const text = `DELETE FROM main.facts WHERE ${quoted(column)} < ?`
    return this.#guard(() => this.#connection.prepare(text).run(value).changes)
  }

  /** Compares, after {@link merge}, with an older file of the same shape. */
  differenceFrom(older: string): FactDifference {
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

  /** Writes what the file says of itself, closes it and brings it to the disk. */
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
      synchronise(this.#path)
    })
  }

  /** Ends the work and removes the file; to be called when it is not to be used. */
  discard(): void {
    this.#connection.close()
    rmSync(this.#path, { force: true })
  }

  #inserting(rows: number): Sqlite.Statement {
    const row = `(${['?', ...this.#columns.map(() => '?')].join(', ')})`
    const all = new Array<string>(rows).fill(row).join(', ')
    return this.#connection.prepare(`INSERT INTO temp.stage VALUES ${all}`)
  }

  #putAsideRest(): void {
    const rows = this.#waiting.length / (this.#columns.length + 1)
    if (rows > 0) this.#guard(() => this.#inserting(rows).run(this.#waiting))
    this.#waiting = []
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
    // With the number alone as key, SQLite's own row id is the number, which is quicker still.
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
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new DataFileError(path, `cannot be written: ${why}`, cause)
  }
}

function quoted(name: string): string {
  return `"${name}"`
}

function synchronise(path: string): void {
  const handle = openSync(path, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
