/**
 * The connection that writes the database, and whatever waits for its disk: statements, commits, checkpoints
 * and looks at its files. In a server it is in a thread of its own, so that the thread that decides waits for
 * none of them; elsewhere it is in the thread that opened it. Several threads may use it at the same time:
 * while one has a transaction open, the statements of the others wait.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
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

/** What the thread that uses a store asks it for. */
export interface StoreClientFunctions {
  execute(statement: StoreStatement): Promise<StatementResult>
  /** Of the last statement. */
  nextRows(): RowPart
  rollback(): Promise<void>
  /** Looks at the files now. */
  checkFault(): string | undefined
}

/** What the thread that opens it asks for, `open` first. */
export interface StoreFunctions extends StoreClientFunctions {
  /** Gives the files as they were opened. */
  open(settings: StorageSettings): readonly OpenedFile[]
  /** Serves the thread at the other end as well. */
  connect(port: MessagePort): void
  checkIntegrity(): Promise<void>
  close(): Promise<void>
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
  readonly clients = new Set<StoreClient>()
  readonly #connection: Sqlite.Database
  readonly #statements: StatementCache
  /** Has a transaction open. */
  #owner: StoreClient | undefined
  readonly #waiting: (() => void)[] = []

  constructor(settings: StorageSettings) {
    const path = resolveDatabasePath(settings.dataDir)
    this.#connection = connect(settings)
    this.#statements = new StatementCache(this.#connection)
    // Reading creates the -wal and -shm files, which are monitored from here on.
    this.#connection.pragma('user_version')
    this.files = listDatabaseFiles(path)
    this.health = new DatabaseHealth(path, this.files, {
      faultChanged: (fault) => {
        for (const { observer } of this.clients) observer.faultChanged(fault)
      },
    })
  }

  /** Runs the statement once no other client has a transaction open. */
  async execute(
    client: StoreClient,
    { sql, parameters }: StoreStatement,
  ): Promise<Omit<StatementResult, 'hasMore'>> {
    while (this.#owner !== undefined && this.#owner !== client) {
      await new Promise<void>((resume) => this.#waiting.push(resume))
    }
    if (!this.clients.has(client)) {
      this.#waiting.shift()?.()
      throw new Error('the thread that asked has ended')
    }
    try {
      const statement = this.#statements.prepare(sql)
      if (statement.reader) return { rows: statement.all(parameters) }
      const { changes, lastInsertRowid } = statement.run(parameters)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
    } catch (cause) {
      this.health.observeFailure(cause)
      throw cause
    } finally {
      this.#owner = this.#connection.inTransaction ? client : undefined
      if (this.#owner === undefined) this.#endTurn()
    }
  }

  /** A full disk has ended the transaction already; failing here would hide the original error. */
  async rollback(client: StoreClient): Promise<void> {
    if (this.#owner === client) await this.execute(client, { sql: 'rollback', parameters: [] })
  }

  /** Ends its transaction as well. */
  disconnect(client: StoreClient): void {
    this.clients.delete(client)
    if (this.#owner !== client) return
    if (this.#connection.inTransaction) this.#connection.exec('rollback')
    this.#owner = undefined
    this.#endTurn()
  }

  #endTurn(): void {
    // What has been committed is gone if the files are, although SQLite reported success.
    this.health.check()
    this.#waiting.shift()?.()
  }

  async close(): Promise<void> {
    // First, so that this connection is the last one, which removes the -wal file.
    await this.health.close()
    this.#connection.close()
  }
}

/** Preparing a statement costs several times as much as running a point query. */
export class StatementCache {
  readonly #connection: Sqlite.Database
  readonly #statements = new Map<string, Sqlite.Statement>()

  constructor(connection: Sqlite.Database) {
    this.#connection = connection
  }

  prepare(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql)
    if (known) return known
    const made = this.#connection.prepare(sql)
    if (this.#statements.size >= cachedStatements) this.#statements.clear()
    this.#statements.set(sql, made)
    return made
  }
}

/** One of the threads that use a store. */
class StoreClient implements StoreClientFunctions {
  readonly observer: StoreObserver
  readonly #store: SqliteStore
  #rows: readonly unknown[] = []

  constructor(store: SqliteStore, observer: StoreObserver) {
    this.#store = store
    this.observer = observer
    store.clients.add(this)
  }

  async execute(statement: StoreStatement): Promise<StatementResult> {
    const result = await this.#store.execute(this, statement)
    this.#rows = result.rows
    return { ...result, ...this.nextRows() }
  }

  nextRows(): RowPart {
    const rows = this.#rows.slice(0, maxRowsPerPart)
    this.#rows = this.#rows.slice(maxRowsPerPart)
    return { rows, hasMore: this.#rows.length > 0 }
  }

  rollback(): Promise<void> {
    return this.#store.rollback(this)
  }

  checkFault(): string | undefined {
    return this.#store.health.check()
  }
}

export function createStore(observer: StoreObserver): StoreFunctions {
  let store: SqliteStore
  let client: StoreClient
  return {
    open(settings) {
      store = new SqliteStore(settings)
      client = new StoreClient(store, observer)
      return store.files
    },
    connect: (port) => serveThread(store, port),
    execute: (statement) => client.execute(statement),
    nextRows: () => client.nextRows(),
    rollback: () => client.rollback(),
    checkFault: () => client.checkFault(),
    checkIntegrity: () => store.health.checkIntegrity(),
    close: () => store.close(),
  }
}

function serveThread(store: SqliteStore, port: MessagePort): void {
  const client: StoreClient = new StoreClient(store, {
    faultChanged: (fault) => void thread.call('faultChanged', fault),
  })
  const thread = connectPort<StoreClientFunctions, StoreObserver>(port, client)
  port.on('close', () => store.disconnect(client))
  const fault = client.checkFault()
  if (fault !== undefined) client.observer.faultChanged(fault)
}

function connect(settings: StorageSettings): Sqlite.Database {
  const { dataDir, blockForLockMs, createDatabase = true, init = false } = settings
  const mayCreate: DatabaseCreationOptions = { createDatabase, init }
  const path = resolveDatabasePath(dataDir)
  const evidence = findDatabaseEvidence(dataDir)
  const { size, cause: unreadable } = inspectFile(path)
  if (unreadable !== undefined) {
    const why = `the database cannot be looked for: ${getErrorMessage(unreadable)}`
    throw new DataFileError(path, why, unreadable)
  }
  if (size === 0n) refuseUnwantedDatabase(path, { hasContent: false, evidence }, mayCreate)
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
