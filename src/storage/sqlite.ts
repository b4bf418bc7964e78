/**
 * SQLite: one file in the data folder, nothing else to run. Statements go to the store, in their order; what
 * a decision needs is read at once, on a read-only connection of this thread.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
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
import { describeDamage } from './database-health.js'
import type { EngineConnection, EngineTraits, StorageSettings } from './open-database.js'
import {
  createStore,
  type StoreFunctions,
  type StoreObserver,
  storeThreadData,
} from './sqlite-store.js'
import type { Tables } from './tables.js'

const traits: EngineTraits = {
  name: 'sqlite',
  maxParameters: 32_000,
  isLockedElsewhere: (cause) => getErrorCode(cause)?.startsWith('SQLITE_BUSY') === true,
  isFull: (cause) => getErrorCode(cause) === 'SQLITE_FULL',
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
      traits,
      prepareRead: <Row>({ sql }: CompiledQuery<Row>) => {
        const statement = reader.prepare<unknown[], Row>(sql)
        return statement.get.bind(statement)
      },
      observeFailure: (cause) => faults.observeFailure(cause),
      // It changes with every commit of another connection, and not with those of the store.
      hasExternalChanges: async () => {
        // Nothing can be read; what has changed is seen once the fault is gone.
        if (faults.find() !== undefined) return false
        const seen = dataVersion
        dataVersion = await readPragma('data_version')
        return dataVersion !== seen
      },
      lockForServing: () => {
        serving ??= lockServing(dataDir)
        // With the lock, no restore is running. Left there, it would let a later one empty the folder.
        rmSync(resolveRestoringPath(dataDir), { recursive: true, force: true })
      },
      markInitialized: () => markInitialized(dataDir),
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

/** Why the database cannot be trusted, as far as this thread knows. */
class Faults implements StoreObserver {
  readonly #path: string
  #ofStore: string | undefined
  /** Found by a read of this thread; remains until the program ends. */
  #damage: string | undefined
  #onChange: (fault: string | undefined) => void = () => undefined

  constructor(path: string) {
    this.#path = path
  }

  find(): string | undefined {
    return this.#ofStore ?? this.#damage
  }

  onChange(listener: (fault: string | undefined) => void): void {
    this.#onChange = listener
  }

  faultChanged(fault: string | undefined): void {
    this.#ofStore = fault
    this.#onChange(this.find())
  }

  observeFailure(cause: unknown): void {
    this.#damage ??= describeDamage(this.#path, cause)
    this.#onChange(this.find())
  }
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
  readonly #call: Store['call']
  readonly #faults: Faults
  readonly #waiting: (() => void)[] = []
  readonly #connection: DatabaseConnection
  #isTaken = false
  #isClosed = false

  constructor(call: Store['call'], faults: Faults) {
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

  async #execute<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
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
  }

  async rollbackTransaction(): Promise<void> {
    await this.#call('rollback', undefined)
  }

  async releaseConnection(): Promise<void> {
    this.#passOn()
    const fault = this.#faults.find()
    if (fault !== undefined) throw new AppError('not-available', fault)
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
    await this.#call('close', undefined)
  }
}

function noStreams(): never {
  throw new Error('results of the database are not streamed')
}

/** Runs each query at once. */
export class ReadDriver extends DummyDriver {
  readonly #reader: Sqlite.Database
  readonly #faults: Pick<Faults, 'observeFailure'>
  readonly #connection: DatabaseConnection

  constructor(reader: Sqlite.Database, faults: Pick<Faults, 'observeFailure'>) {
    super()
    this.#reader = reader
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
      return this.#reader.prepare(sql).all(parameters)
    } catch (cause) {
      this.#faults.observeFailure(cause)
      throw cause
    }
  }
}

class TransactionalMigrationAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

export class SqliteFileDialect implements Dialect {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  createDriver(): Driver {
    return this.#driver
  }

  /** All missing migrations together or none: SQLite can, although Kysely does not rely on it. */
  createAdapter(): SqliteAdapter {
    return new TransactionalMigrationAdapter()
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
  const lock = new Sqlite(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (cause) {
    lock.close()
    const problem =
      'another callgate is already serving this data folder; stop it, or set CALLGATE_DATA_DIR'
    throw new DataFileError(path, problem, cause)
  }
}
