/**
 * PostgreSQL: a server of its own that holds what SQLite would hold in the data folder. Queries run on a pool of
 * connections, those of a decision as well.
 */
import { type CompiledQuery, Kysely } from 'kysely'
import pg from 'pg'
import { DataFileError, getErrorCode, getErrorMessage } from '../errors.js'
import type {
  EngineConnection,
  EngineThreadConnection,
  EngineTraits,
  PostgresSettings,
} from './open-database.js'
import { type DriverOptions, diskFull, PoolDialect, PoolDriver } from './postgres-driver.js'
import type { Tables } from './tables.js'

const traits: EngineTraits = {
  name: 'postgres',
  // The protocol counts them in 16 bits.
  maxParameters: 65_000,
  // Serialization failure, deadlock, lock timeout.
  isLockedElsewhere: (cause) => ['40001', '40P01', '55P03'].includes(getErrorCode(cause) ?? ''),
  isFull: (cause) => getErrorCode(cause) === diskFull,
}

/** How long a query of a decision may take, whose deadline is shorter; a server that is paused gives no error. */
const readMs = 1_000
/** Any other statement. */
const statementMs = 60_000
/** Until there is a connection for it, and all are in use. */
const connectMs = 10_000
/** A service thread with a low priority may pause for long in the middle of a transaction. */
const idleInTransactionMs = 30_000
/** A long write of the same account comes first. */
const lockMs = 10_000
/** Moves of a host name are followed. */
const maxLifetimeSeconds = 1_800
const int8 = 20

interface PoolOptions {
  readonly max: number
  /** Without it, connections stay as long as the pool, and their queries may take as long as they like. */
  readonly queryMs?: number
}

function createPool(settings: PostgresSettings, { max, queryMs }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({ ...configureClient(settings, queryMs), max })
  // An idle connection that ends is replaced by the next query.
  pool.on('error', () => undefined)
  return pool
}

function configureClient(settings: PostgresSettings, queryMs: number | undefined): pg.PoolConfig {
  const { url, password, tls, certificateAuthorities: ca } = settings
  const { hostname, port, username, pathname } = new URL(url)
  return {
    host: decodeURIComponent(hostname),
    port: port === '' ? 5432 : Number(port),
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
    ...(password !== undefined && { password }),
    ssl: tls && { rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
    application_name: 'callgate',
    connectionTimeoutMillis: Math.min(connectMs, queryMs ?? connectMs),
    keepAlive: true,
    lock_timeout: lockMs,
    ...(queryMs === undefined
      ? { idleTimeoutMillis: 0 }
      : {
          query_timeout: queryMs,
          statement_timeout: queryMs,
          idle_in_transaction_session_timeout: idleInTransactionMs,
          maxLifetimeSeconds,
        }),
    types: {
      getTypeParser: (oid, format) =>
        oid === int8 ? parseInt8 : pg.types.getTypeParser(oid, format),
    },
  }
}

/** Instants and counts are far below 2^53. */
function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`)
  return value
}

/** Opens the database of `storage.url`. It must exist; its tables are made by the migrations. */
export async function openPostgres(
  settings: PostgresSettings,
  { isCommand }: { readonly isCommand: boolean },
): Promise<EngineConnection> {
  const path = describeServer(settings)
  const half = Math.floor(settings.maxConnections / 2)
  const most = settings.maxConnections - half
  // A command has temporary tables, which belong to their connection, and imports millions of rows at once.
  const pool = createPool(settings, isCommand ? { max: 1 } : { max: most, queryMs: statementMs })
  let commandWrites: number | undefined
  let fault: string | undefined
  const findFault = () => fault
  const database = new Database(path, pool, { countsWrites: isCommand, findFault })
  const readPool = createPool(settings, { max: half, queryMs: readMs })
  const reading = new Database(path, readPool, { findFault })
  const serving = new ServingLock(settings)
  let onFaultChange: (fault: string | undefined) => void = () => undefined
  let checking: Promise<string | undefined> | undefined
  const check = async () => {
    const found = (await reading.findProblem()) ?? (await serving.findProblem())
    const isNew = found !== fault
    fault = found
    if (isNew) onFaultChange(found)
    return found
  }
  const problem = (await database.findProblem()) ?? (await reading.findProblem())
  const close = async () => {
    await serving.release()
    await Promise.all([database.close(), reading.close()])
  }
  if (problem !== undefined) {
    await close()
    throw new DataFileError(path, problem)
  }
  return {
    ...toThreadConnection(path, database, reading),
    files: [],
    connectThread: () => undefined,
    hasExternalChanges: async () => {
      // Nothing can be read; what has changed is seen once the server answers again.
      if (fault !== undefined) return false
      const { count } = await database.db
        .selectFrom('change_head')
        .select('command_writes as count')
        .executeTakeFirstOrThrow()
      const hasChanged = commandWrites !== count
      commandWrites = count
      return hasChanged
    },
    lockForServing: () => serving.take(),
    markInitialized: () => undefined,
    checkFault: () => {
      checking ??= check().finally(() => {
        checking = undefined
      })
      return checking
    },
    onFaultChange: (listener) => {
      onFaultChange = listener
    },
    // The server looks after its own pages and its own log.
    checkIntegrity: async () => undefined,
    emptyLog: async () => undefined,
    probeWrite: async () => {
      await database.db
        .updateTable('change_head')
        .set((row) => ({ seq: row.ref('seq') }))
        .execute()
    },
    failure: new Promise<never>(() => undefined),
    close,
  }
}

/** With connections of its own, which end with the thread. */
export function openPostgresInThread(settings: PostgresSettings): EngineThreadConnection {
  const path = describeServer(settings)
  const database = new Database(path, createPool(settings, { max: 2, queryMs: statementMs }))
  return toThreadConnection(path, database, database)
}

function toThreadConnection(
  path: string,
  { db }: Database,
  { db: reads }: Database,
): EngineThreadConnection {
  return {
    path,
    db,
    reads,
    traits,
    prepareRead:
      <Row>(query: CompiledQuery<Row>) =>
      async (...parameters) =>
        (await reads.executeQuery<Row>({ ...query, parameters })).rows[0],
    observeFailure: () => undefined,
  }
}

/** For messages, without the user. */
function describeServer({ url }: PostgresSettings): string {
  const { host, pathname } = new URL(url)
  return `postgres://${host}${pathname}`
}

/** A pool, and Kysely over it. */
class Database {
  readonly db: Kysely<Tables>
  readonly #pool: pg.Pool

  constructor(path: string, pool: pg.Pool, options: DriverOptions = {}) {
    this.#pool = pool
    const driver = new PoolDriver(path, pool, options)
    this.db = new Kysely<Tables>({ dialect: new PoolDialect(driver) })
  }

  /** Why the server does not answer, for people. */
  async findProblem(): Promise<string | undefined> {
    try {
      await this.#pool.query('select 1')
      return undefined
    } catch (cause) {
      return `the database does not answer: ${getErrorMessage(cause)}`
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** Held by the connection of the server that uses the database. */
const servingLockKey = 5_550_100

class ServingLock {
  readonly #settings: PostgresSettings
  #client: pg.Client | undefined
  #isWanted = false

  constructor(settings: PostgresSettings) {
    this.#settings = settings
  }

  async take(): Promise<void> {
    this.#isWanted = true
    const problem = await this.findProblem()
    if (problem === undefined) return
    this.#isWanted = false
    throw new DataFileError(describeServer(this.#settings), problem)
  }

  /** Takes the lock again if its connection has ended, which only a query on it shows for certain. */
  async findProblem(): Promise<string | undefined> {
    if (!this.#isWanted) return undefined
    try {
      await this.#client?.query('select 1')
    } catch {
      this.#disconnect()
    }
    return this.#client === undefined ? await this.#connect() : undefined
  }

  async #connect(): Promise<string | undefined> {
    const client = new pg.Client(configureClient(this.#settings, readMs))
    this.#client = client
    // The next query fails as well.
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [
        servingLockKey,
      ])
      if (rows[0]?.taken === true) return undefined
      this.#disconnect()
      return 'another callgate is already serving this database; stop it, or set CALLGATE_STORAGE_URL'
    } catch (cause) {
      this.#disconnect()
      return `the database does not answer: ${getErrorMessage(cause)}`
    }
  }

  #disconnect(): void {
    const client = this.#client
    this.#client = undefined
    // Without an answer from the server, the end would be waited for.
    void client?.end().catch(() => undefined)
  }

  async release(): Promise<void> {
    this.#isWanted = false
    await this.#client?.end().catch(() => undefined)
    this.#client = undefined
  }
}
