/**
 * The connection that writes the database, and whatever waits for its disk: statements, commits, checkpoints
 * and looks at its files. In a server it is in a thread of its own, so that the thread that decides waits for
 * none of them; elsewhere it is in the thread that opened it.
 */
import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { DataFileError, getErrorMessage } from '../errors.js'
import { ensureFolder } from '../runtime/folders.js'
import { connectPort } from '../runtime/port-calls.js'
import {
  type DatabaseCreationOptions,
  findDatabaseEvidence,
  refuseUnwantedDatabase,
  resolveDatabasePath,
} from './database-files.js'
import { DatabaseHealth } from './database-health.js'
import type { StorageSettings } from './open-database.js'
import { inspectFile, listDatabaseFiles, type OpenedFile } from './open-files.js'

export interface StoreStatement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** The rows of a statement, or the next of them. */
export interface RowPart {
  readonly rows: readonly unknown[]
  /** Whether there are more, to be asked for before the next statement. */
  readonly hasMore: boolean
}

export interface StatementResult extends RowPart {
  readonly numAffectedRows?: bigint
  readonly insertId?: bigint
}

/** What the thread of a store is asked for, `open` first. */
export interface StoreFunctions {
  /** Gives the files as they were opened. */
  open(settings: StorageSettings): readonly OpenedFile[]
  execute(statement: StoreStatement): StatementResult
  nextRows(): RowPart
  rollback(): void
  /** Looks at the files now. */
  checkFault(): string | undefined
  checkIntegrity(): Promise<void>
  close(): void
}

export interface StoreObserver {
  /** Why the database cannot be trusted from now on, or that it can again. Precedes the answer that follows. */
  faultChanged(fault: string | undefined): void
}

/** What the thread that decides reads from another in well below a millisecond. */
const maxRowsPerPart = 200
const cachedStatements = 500

class SqliteStore {
  readonly files: readonly OpenedFile[]
  readonly health: DatabaseHealth
  readonly #connection: Sqlite.Database
  readonly #statements = new Map<string, Sqlite.Statement>()
  #rows: readonly unknown[] = []

  constructor(settings: StorageSettings, observer: StoreObserver) {
    const path = resolveDatabasePath(settings.dataDir)
    this.#connection = connect(settings)
    if (settings.readOnly) this.#connection.pragma('query_only = ON')
    // Reading creates the -wal and -shm files, which are monitored from here on.
    this.#connection.pragma('user_version')
    this.files = listDatabaseFiles(path)
    this.health = new DatabaseHealth(path, this.files, observer)
  }

  execute(statement: StoreStatement): StatementResult {
    try {
      return this.#run(statement)
    } catch (cause) {
      this.health.observeFailure(cause)
      throw cause
    } finally {
      // What has been committed is gone if the files are, although SQLite reported success.
      if (!this.#connection.inTransaction) this.health.check()
    }
  }

  #run({ sql, parameters }: StoreStatement): StatementResult {
    const statement = this.#prepare(sql)
    if (statement.reader) {
      this.#rows = statement.all(parameters)
      return this.nextRows()
    }
    const { changes, lastInsertRowid } = statement.run(parameters)
    return {
      rows: [],
      hasMore: false,
      numAffectedRows: BigInt(changes),
      insertId: BigInt(lastInsertRowid),
    }
  }

  nextRows(): RowPart {
    const rows = this.#rows.slice(0, maxRowsPerPart)
    this.#rows = this.#rows.slice(maxRowsPerPart)
    return { rows, hasMore: this.#rows.length > 0 }
  }

  /** A full disk has ended the transaction already; failing here would hide the original error. */
  rollback(): void {
    if (this.#connection.inTransaction) this.execute({ sql: 'rollback', parameters: [] })
  }

  /** Preparing a statement costs several times as much as running a point query. */
  #prepare(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql)
    if (known) return known
    const made = this.#connection.prepare(sql)
    if (this.#statements.size >= cachedStatements) this.#statements.clear()
    this.#statements.set(sql, made)
    return made
  }

  close(): void {
    this.health.close()
    this.#connection.close()
  }
}

export function createStore(observer: StoreObserver): StoreFunctions {
  let store: SqliteStore
  return {
    open(settings) {
      store = new SqliteStore(settings, observer)
      return store.files
    },
    execute: (statement) => store.execute(statement),
    nextRows: () => store.nextRows(),
    rollback: () => store.rollback(),
    checkFault: () => store.health.check(),
    checkIntegrity: () => store.health.checkIntegrity(),
    close: () => store.close(),
  }
}

function connect(settings: StorageSettings): Sqlite.Database {
  const { dataDir, blockForLockMs, createDatabase = true, init = false } = settings
  const mayCreate: DatabaseCreationOptions = { createDatabase, init }
  const path = resolveDatabasePath(dataDir)
  const evidence = findDatabaseEvidence(dataDir)
  if (inspectFile(path).size === 0n)
    refuseUnwantedDatabase(path, { hasContent: false, evidence }, mayCreate)
  ensureFolder(dataDir)
  let connection: Sqlite.Database | undefined
  try {
    connection = new Sqlite(path, { timeout: blockForLockMs })
    const tables = connection.prepare('select count(*) from sqlite_master').pluck().get()
    refuseUnwantedDatabase(path, { hasContent: tables !== 0, evidence }, mayCreate)
    connection.pragma('journal_mode = WAL')
    connection.pragma('synchronous = FULL')
    connection.pragma('foreign_keys = ON')
    // What is deleted, such as an erased number, is not left in free space of the file.
    connection.pragma('secure_delete = ON')
    return connection
  } catch (cause) {
    connection?.close()
    if (cause instanceof DataFileError) throw cause
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `the database cannot be opened: ${why}`, cause)
  }
}

/** What a thread of a store starts with; other threads may load this module as well. */
export const storeThreadData = { thread: 'store' } as const

if (parentPort && workerData?.thread === storeThreadData.thread) {
  const observer: StoreObserver = { faultChanged: (fault) => void main.call('faultChanged', fault) }
  const main = connectPort<StoreFunctions, StoreObserver>(parentPort, createStore(observer))
}
