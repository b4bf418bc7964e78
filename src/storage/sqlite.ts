/**
 * SQLite: one file in the data folder, nothing else to run. Statements go to the store, in their order; what
 * a decision needs is read at once, on a read-only connection of this thread.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  DummyDriver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { AppError, DataFileError, getErrorCode, getErrorMessage } from '../errors.js'
import { callDirectly, connectPort, type PortCalls } from '../runtime/port-calls.js'
import { markInitialized, resolveDatabasePath, resolveRestoringPath } from './database-files.js'
import { Faults } from './database-health.js'
import type {
  EngineConnection,
  EngineThreadConnection,
  EngineTraits,
  ReadFirst,
  StorageSettings,
  ThreadStorageSettings,
} from './open-database.js'
import {
  createStore,
  StatementCache,
  type StoreClientFunctions,
  type StoreFunctions,
  type StoreObserver,
  storeThreadData,
} from './sqlite-store.js'
import type { Tables } from './tables.js'

export const sqliteTraits: EngineTraits = {
  name: 'sqlite',
  isShared: false,
  isCopy: false,
  maxParameters: 32_000,
  isLockedElsewhere: (cause) => getErrorCode(cause)?.startsWith('SQLITE_BUSY') === true,
  isFull: (cause) => getErrorCode(cause) === 'SQLITE_FULL',
  isDiskError: (cause) =>
    /^SQLITE_(?:IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|PROTOCOL|NOMEM)/.test(
      getErrorCode(cause) ?? '',
    ),
}

/**
 * Opens `callgate.sqlite` in the folder, and creates both if needed. Every acknowledged write is on
 * disk (`synchronous=FULL`); writers do not block readers (WAL).
 */
export async function openSqlite(settings: StorageSettings): Promise<EngineConnection> {
  const { dataDir, blockForLockMs } = settings
  const path = resolveDatabasePath(dataDir)
  const faults = new Faults(path)
  const store = startStore(settings, faults)
  const { call } = store
  try {
    const files = await call('open', settings)
    const driver = new StoreDriver(call, faults)
    const db = new Kysely<Tables>({ dialect: new SqliteFileDialect(driver) })
    const readPragma = async (name: string): Promise<unknown> => {
      const { rows } = await db.executeQuery(CompiledQuery.raw(`pragma ${name}`))
      return (rows[0] as Record<string, unknown> | undefined)?.[name]
    }
    const version = await readPragma('user_version')
    let dataVersion = await readPragma('data_version')
    const reader = new Sqlite(path, { readonly: true, timeout: blockForLockMs })
    let serving: Sqlite.Database | undefined
    return {
      path,
      files,
      db,
      reads: new Kysely<Tables>({ dialect: new SqliteFileDialect(new ReadDriver(reader, faults)) }),
      traits: sqliteTraits,
      prepareRead: (query) => prepareRead(reader, query),
      observeFailure: (cause) => faults.observeFailure(cause),
      onAudited: (confirm) => driver.onAudited(confirm),
      connectThread: () => {
        const { port1, port2 } = new MessageChannel()
        void call('connect', port1, [port1])
        return port2
      },
      feed: undefined,
      abandonUnanswered: () => undefined,
      // It changes with every commit of another connection, and not with those of the store.
      hasExternalChanges: async () => {
        // Nothing can be read; what has changed is seen once the fault is gone.
        if (faults.find() !== undefined) return false
        const seen = dataVersion
        dataVersion = await readPragma('data_version')
        return dataVersion !== seen
      },
      lockForServing: async () => {
        serving ??= lockServing(dataDir)
        // With the lock, no restore is running. Left there, it would let a later one empty the folder.
        rmSync(resolveRestoringPath(dataDir), { recursive: true, force: true })
      },
      markInitialized: (installation) => markInitialized(dataDir, installation),
      checkFault: async () => {
        try {
          await call('checkFault', undefined)
          return faults.find()
        } catch (cause) {
          return faults.find() ?? `${path}: its files cannot be checked: ${getErrorMessage(cause)}`
        }
      },
      onFaultChange: (listener) => faults.onChange(listener),
      checkIntegrity: () => call('checkIntegrity', undefined),
      // Setting the same version again changes nothing, but is a commit on disk like any other.
      probeWrite: async () => {
        await db.executeQuery(CompiledQuery.raw(`pragma user_version = ${version}`))
      },
      emptyLog: async () => {
        await db.executeQuery(CompiledQuery.raw('pragma wal_checkpoint(truncate)'))
      },
      failure: store.failure,
      close: async () => {
        // First, so that the store is the last to close and the only one to write a checkpoint.
        reader.close()
        try {
          await driver.destroy()
          await call('close', undefined)
        } finally {
          await store.end()
          serving?.close()
        }
      },
    }
  } catch (cause) {
    await call('close', undefined).catch(() => undefined)
    await store.end()
    throw cause
  }
}

/** In a further thread of the process. */
export function openSqliteInThread({
  dataDir,
  lockWaitMs,
  port,
}: ThreadStorageSettings): EngineThreadConnection {
  const path = resolveDatabasePath(dataDir)
  const faults = new Faults(path)
  if (port === undefined) throw new TypeError('a further thread needs a port to the store')
  const { call } = connectPort<StoreObserver, StoreClientFunctions>(port, faults)
  const reader = new Sqlite(path, { readonly: true, timeout: lockWaitMs })
  const reads = new ReadDriver(reader, faults)
  const writes = new StoreDriver(call, faults)
  const driver = new ThreadDriver(writes, reads, faults)
  return {
    path,
    db: new Kysely<Tables>({ dialect: new SqliteFileDialect(driver) }),
    reads: new Kysely<Tables>({ dialect: new SqliteFileDialect(reads) }),
    traits: sqliteTraits,
    prepareRead: (query) => prepareRead(reader, query),
    observeFailure: (cause) => faults.observeFailure(cause),
    onAudited: (confirm) => writes.onAudited(confirm),
  }
}

function prepareRead<Row>(reader: Sqlite.Database, { sql }: CompiledQuery<Row>): ReadFirst<Row> {
  const statement = reader.prepare<unknown[], Row>(sql)
  return statement.get.bind(statement)
}

interface Store {
  readonly call: PortCalls<StoreFunctions>['call']
  /** Rejects if the thread ends before {@link Store.end}. */
  readonly failure: Promise<never>
  end(): Promise<void>
}

function startStore({ inThread }: StorageSettings, faults: Faults): Store {
  // Node.js loads compiled files in a thread; run from its sources, as in tests, the program does without.
  if (inThread && !import.meta.url.endsWith('.ts')) return startStoreThread(faults)
  const failure = new Promise<never>(() => undefined)
  return { call: callDirectly(createStore(faults)), failure, end: async () => undefined }
}

function startStoreThread(faults: Faults): Store {
  const module = new URL('./sqlite-store.js', import.meta.url)
  const worker = new Worker(module, { workerData: storeThreadData })
  const calls = connectPort<StoreObserver, StoreFunctions>(worker, faults)
  let isEnding = false
  const failure = new Promise<never>((_, reject) => {
    let why = 'no reason was given'
    worker.on('error', (cause) => {
      why = getErrorMessage(cause)
    })
    worker.on('exit', () => {
      if (isEnding) return
      const problem = `the thread that writes the database has ended: ${why}. Start callgate again`
      const cause = new AppError('not-available', problem)
      calls.fail(cause)
      faults.faultChanged(problem)
      reject(cause)
    })
  })
  // Whoever serves learns of it; others fail with their next query.
  failure.catch(() => undefined)
  const end = async () => {
    isEnding = true
    await worker.terminate()
  }
  return { call: calls.call, failure, end }
}

/**
 * Hands the one connection from query to query in their order. Every query and every transaction ends with
 * {@link releaseConnection}, which fails if the files were gone after its commit, although SQLite reported
 * success.
 */
class StoreDriver implements Driver {
  readonly #call: PortCalls<StoreClientFunctions>['call']
  readonly #faults: Faults
  readonly #waiting: (() => void)[] = []
  readonly #connection: DatabaseConnection
  #isTaken = false
  #isClosed = false
  /** Whether the transaction in progress has added a row to the audit table, or was committed with one. */
  #audits: 'no' | 'added' | 'committed' = 'no'
  #confirm: () => Promise<void> = async () => undefined

  constructor(call: PortCalls<StoreClientFunctions>['call'], faults: Faults) {
    this.#call = call
    this.#faults = faults
    this.#connection = { executeQuery: (query) => this.#execute(query), streamQuery: noStreams }
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#isTaken) await new Promise<void>((resume) => this.#waiting.push(resume))
    this.#isTaken = true
    if (!this.#isClosed) return this.#connection
    this.#passOn()
    throw new Error('the database is closed')
  }

  onAudited(confirm: () => Promise<void>): void {
    this.#confirm = confirm
  }

  async #execute<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (sql.startsWith('insert into "audit"')) this.#audits = 'added'
    const result = await this.#call('execute', { sql, parameters })
    const rows = [...result.rows]
    for (let { hasMore } = result; hasMore; ) {
      const part = await this.#call('nextRows', undefined)
      for (const row of part.rows) rows.push(row)
      hasMore = part.hasMore
    }
    return { ...result, rows: rows as Row[] }
  }

  async beginTransaction(): Promise<void> {
    await this.#execute(CompiledQuery.raw('begin'))
  }

  async commitTransaction(): Promise<void> {
    await this.#execute(CompiledQuery.raw('commit'))
    if (this.#audits === 'added') this.#audits = 'committed'
  }

  async rollbackTransaction(): Promise<void> {
    await this.#call('rollback', undefined)
  }

  async releaseConnection(): Promise<void> {
    const isAudited = this.#audits === 'committed'
    this.#audits = 'no'
    this.#passOn()
    this.#faults.refuse()
    if (isAudited) await this.#confirm()
  }

  #passOn(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#isTaken = false
  }

  /** What was asked before ends first. */
  async destroy(): Promise<void> {
    if (this.#isClosed) return
    await this.acquireConnection()
    this.#isClosed = true
    this.#passOn()
  }
}

function noStreams(): never {
  throw new Error('results of the database are not streamed')
}

/** Runs each query at once. */
export class ReadDriver extends DummyDriver {
  readonly #statements: StatementCache
  readonly #faults: Pick<Faults, 'observeFailure'>
  readonly #connection: DatabaseConnection

  constructor(reader: Sqlite.Database, faults: Pick<Faults, 'observeFailure'>) {
    super()
    this.#statements = new StatementCache(reader)
    this.#faults = faults
    this.#connection = {
      executeQuery: async (query) => ({ rows: this.#read(query) as never }),
      streamQuery: noStreams,
    }
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  #read({ sql, parameters }: CompiledQuery): unknown[] {
    try {
      return this.#statements.prepare(sql).all(parameters)
    } catch (cause) {
      this.#faults.observeFailure(cause)
      throw sqliteTraits.isDiskError(cause) ? unreadableError(cause) : cause
    }
  }
}

function unreadableError(cause: unknown): AppError {
  const problem = `The database cannot be read (${getErrorMessage(cause)})`
  const advice = 'nothing was changed; send it again'
  return new AppError('not-available', `${problem}; ${advice}`, { cause, retryAfterSeconds: 1 })
}

/** A transaction runs in the store, any other query at once on the connection of this thread. */
class ThreadDriver implements Driver {
  readonly #store: StoreDriver
  readonly #reads: ReadDriver
  readonly #faults: Faults

  constructor(store: StoreDriver, reads: ReadDriver, faults: Faults) {
    this.#store = store
    this.#reads = reads
    this.#faults = faults
  }

  async init(): Promise<void> {}

  async destroy(): Promise<void> {}

  async acquireConnection(): Promise<ThreadConnection> {
    return new ThreadConnection(await this.#reads.acquireConnection())
  }

  async beginTransaction(connection: ThreadConnection): Promise<void> {
    connection.inStore = await this.#store.acquireConnection()
    await this.#store.beginTransaction()
  }

  async commitTransaction(): Promise<void> {
    await this.#store.commitTransaction()
  }

  async rollbackTransaction(): Promise<void> {
    await this.#store.rollbackTransaction()
  }

  async releaseConnection({ inStore }: ThreadConnection): Promise<void> {
    if (inStore) await this.#store.releaseConnection()
    else this.#faults.refuse()
  }
}

class ThreadConnection implements DatabaseConnection {
  readonly #reading: DatabaseConnection
  /** While a transaction is open. */
  inStore: DatabaseConnection | undefined

  constructor(reading: DatabaseConnection) {
    this.#reading = reading
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return (this.inStore ?? this.#reading).executeQuery(query)
  }

  streamQuery = noStreams
}

export class SqliteFileDialect implements Dialect {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  createDriver(): Driver {
    return this.#driver
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter()
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler()
  }

  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db)
  }
}

/**
 * A lock that ends with the process, however it ends: an open transaction on a separate file. Throws
 * {@link DataFileError} if another process has it.
 */
export function lockServing(dataDir: string): Sqlite.Database {
  const path = join(dataDir, 'serving.lock')
  let lock: Sqlite.Database | undefined
  try {
    lock = new Sqlite(path, { timeout: 0 })
    lock.exec('begin exclusive')
    return lock
  } catch (cause) {
    lock?.close()
    const problem = sqliteTraits.isDiskError(cause)
      ? `cannot be locked: ${getErrorMessage(cause)}`
      : 'another callgate is already serving this data folder; stop it, or set CALLGATE_DATA_DIR'
    throw new DataFileError(path, problem, cause)
  }
}
