/** Copies of SQLite files that other programs may have open, and a look into a copy of the database. */
import Sqlite from 'better-sqlite3'
import { DataFileError, getErrorMessage } from '../errors.js'
import type { KnownPosition } from './audit/installation.js'
import { findSchemaProblem } from './migrate.js'

/**
 * Writes a SQLite file as it is at one instant to `target`, which must not exist, while a server goes on
 * writing to it. Throws {@link DataFileError} if it cannot be read, or not be copied.
 */
export function copySqliteFile(path: string, target: string): void {
  try {
    const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
    try {
      // SQLite's backup functions would begin again after each write of the server.
      connection.prepare('vacuum into ?').run(target)
    } finally {
      connection.close()
    }
  } catch (cause) {
    throw new DataFileError(path, `cannot be copied: ${getErrorMessage(cause)}`, cause)
  }
}

/** Removes the secrets that sign webhooks and permits from a copy; new ones are made when they are needed. */
export function removeStoredSecrets(path: string): void {
  const connection = new Sqlite(path, { fileMustExist: true })
  try {
    const column = "select name from pragma_table_info('accounts') where name = 'webhook_secret'"
    if (connection.prepare(column).get() === undefined) return
    // Else the bytes stay in the file.
    connection.pragma('secure_delete = on')
    connection.prepare('update accounts set webhook_secret = null').run()
    const table = "select name from sqlite_master where name = 'permit_keys'"
    if (connection.prepare(table).get()) connection.prepare('delete from permit_keys').run()
  } finally {
    connection.close()
  }
}

export interface DatabaseContent {
  /** Names of the migrations that made its schema, in order. */
  readonly migrations: readonly string[]
  /** Number of the last change of opt-outs and consents; 0 in a schema that has no such numbers. */
  readonly changeSeq: number
  /** How many journals it knows. */
  readonly journals: number
  /** Rows of the tables that nothing else can bring back. */
  readonly rows: Readonly<Record<CountedTable, number>>
}

const countedTables = ['accounts', 'api_keys', 'projects', 'internal_dnc', 'ebr_records'] as const
type CountedTable = (typeof countedTables)[number]

/**
 * Checks every page without writing. Throws {@link DataFileError} if the file is damaged, is no database of
 * this program, or has a newer schema.
 */
export function inspectDatabase(path: string): DatabaseContent {
  try {
    const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
    try {
      return inspect(connection)
    } finally {
      connection.close()
    }
  } catch (cause) {
    throw new DataFileError(path, `cannot be used as database: ${getErrorMessage(cause)}`, cause)
  }
}

function inspect(connection: Sqlite.Database): DatabaseContent {
  const damage = connection.pragma('integrity_check(1)', { simple: true })
  if (damage !== 'ok') throw new Error(String(damage))
  const list = (sql: string) => connection.prepare<[], string>(sql).pluck().all()
  const migrations = list('select name from kysely_migration order by name')
  const problem = findSchemaProblem(migrations)
  if (problem !== undefined) throw new Error(problem)
  const tables = new Set(list("select name from sqlite_master where type = 'table'"))
  const readNumber = (table: string, expression: string) =>
    tables.has(table)
      ? (connection.prepare<[], number>(`select ${expression} from ${table}`).pluck().get() ?? 0)
      : 0
  const counts = countedTables.map((table) => [table, readNumber(table, 'count(*)')])
  return {
    migrations,
    changeSeq: readNumber('change_head', 'seq'),
    journals: readNumber('journal_positions', 'count(*)'),
    rows: Object.fromEntries(counts) as Record<CountedTable, number>,
  }
}

/** Sets what a copy of a database knows of a journal to the last record that is beside it. */
export function storeJournalEnd(path: string, origin: string, { seq, leaf }: KnownPosition): void {
  const connection = new Sqlite(path, { fileMustExist: true })
  try {
    connection
      .prepare('insert or replace into journal_positions values (?, ?, ?)')
      .run(origin, seq, leaf)
  } finally {
    connection.close()
  }
}

/** For a copy without a journal beside it. */
export function forgetJournals(path: string): void {
  const connection = new Sqlite(path, { fileMustExist: true })
  try {
    const table = "select name from sqlite_master where name = 'journal_positions'"
    if (connection.prepare(table).get()) connection.exec('delete from journal_positions')
  } finally {
    connection.close()
  }
}
