/**
 * PostgreSQL: a server of its own that holds what SQLite would hold in the data folder. Queries run on a pool of
 * connections, those of a decision as well.
 */
import { Kysely } from 'kysely'
import pg from 'pg'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import { requireRestored } from '../database-files.js'
import type {
  EngineConnection,
  EngineThreadConnection,
  EngineTraits,
  PostgresSettings,
} from '../open-database.js'
import { lockServing } from '../sqlite.js'
import type { Tables } from '../tables.js'
import { batchReads } from './batched-read.js'
import { type DriverOptions, diskFull, PoolDialect, PoolDriver } from './postgres-driver.js'
import { PostgresFeed, standbyProblem } from './postgres-feed.js'

const traits: EngineTraits = {
  name: 'postgres',
  isShared: true,
  isCopy: false,
  // The protocol counts them in 16 bits.
  maxParameters: 65_000,
  // Serialization failure, deadlock, lock timeout.
  isLockedElsewhere: (cause) => ['40001', '40P01', '55P03'].includes(getErrorCode(cause) ?? ''),
  isFull: (cause) => getErrorCode(cause) === diskFull,
  // System errors, such as `io_error`, and damaged pages.
  isDiskError: (cause) => /^(?:58...|XX00[12])$/.test(getErrorCode(cause) ?? ''),
}

/** How long a query of a decision may take, whose deadline is shorter; a server that is paused gives no error. */
const readMs = 1_000
/** Any other statement. */
const statementMs = 60_000
/** Until there is a connection for it, and all are in use. */
const connectMs = 10_000
/** A server that is gone in the middle of a transaction holds its locks for so long, and others wait for them. */
const idleInTransactionMs = 5_000
/** A service thread with a low priority may pause for long in the middle of a transaction. */
const idleInThreadMs = 30_000
/** A long write of the same account comes first. */
const lockMs = 10_000
/** Moves of a host name are followed. */
const maxLifetimeSeconds = 1_800
/** For a service thread, which is not told that the primary is another server now. */
const threadLifetimeSeconds = 5
const int8 = 20

interface PoolOptions {
  readonly max: number
  /** Without it, connections stay as long as the pool, and their queries may take as long as they like. */
  readonly queryMs?: number
  readonly isThread?: boolean
}

function createPool(settings: PostgresSettings, { max, queryMs, isThread }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...configureClient(settings, queryMs),
    ...(isThread && {
      maxLifetimeSeconds: threadLifetimeSeconds,
      idle_in_transaction_session_timeout: idleInThreadMs,
    }),
    max,
    // Not `verify`, which gives the connection to nobody if the query that asked for it has given up meanwhile.
    onConnect: prepareClient,
  })
  // An idle connection that ends is replaced by the next query.
  pool.on('error', () => undefined)
  // While it is being prepared and once it has been given back, nobody else listens, and its end would end the program.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** An opt-out must be on a disk when it is acknowledged, also where the default of the role or the database is less. */
const prepareSession = `select pg_is_in_recovery() as "isStandby",
  case when current_setting('synchronous_commit') in ('off', 'local', 'remote_write')
    then set_config('synchronous_commit', 'on', false) end`

/** Refuses a standby, which may not have an opt-out that its primary has. */
async function prepareClient(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(prepareSession)
  if (rows[0].isStandby) throw new Error(standbyProblem)
}

/** On a connection of its own, since those of the pool may all be waiting. */
async function cancelStandbyWait(settings: PostgresSettings, processId: number): Promise<void> {
  const client = new pg.Client(configureClient(settings, readMs))
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(
      `select pg_cancel_backend(pid) from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'`,
      [processId],
    )
  } catch {
    // The query ends by its time limit then.
  } finally {
    void client.end().catch(() => undefined)
  }
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
  { isCommand, dataDir }: { readonly isCommand: boolean; readonly dataDir: string },
): Promise<EngineConnection> {
  // A server would make new tables, and a later restore would find them.
  if (!isCommand) requireRestored(dataDir)
  const path = describeServer(settings)
  const half = Math.floor(settings.maxConnections / 2)
  const most = settings.maxConnections - half
  // A command has temporary tables, which belong to their connection, and imports millions of rows at once.
  const pool = createPool(settings, isCommand ? { max: 1 } : { max: most, queryMs: statementMs })
  let fault: string | undefined
  const options = createDriverOptions(settings, () => fault)
  const confirming = { confirm: async () => {} }
  const database = new Database(path, pool, {
    ...options,
    recordsChanges: true,
    onChange: (change) => feed?.remember(change),
    confirm: () => confirming.confirm(),
  })
  const readPool = createPool(settings, { max: half, queryMs: readMs })
  const reading = new Database(path, readPool, options)
  const onConnect = () => {
    for (const { driver } of [database, reading]) driver.renewConnections()
  }
  const feed: PostgresFeed | undefined = isCommand
    ? undefined
    : new PostgresFeed(configureClient(settings, readMs), onConnect)
  let onFaultChange: (fault: string | undefined) => void = () => undefined
  let checking: Promise<string | undefined> | undefined
  const abandonQueries = () => {
    for (const { driver } of [database, reading]) driver.abandonQueries()
  }
  const check = async () => {
    const found = await reading.findProblem()
    const isNew = found !== fault
    fault = found
    // Two connections have waited in vain, so the others would as well.
    if (fault !== undefined && feed?.problem !== undefined) abandonQueries()
    if (isNew) onFaultChange(found)
    return found
  }
  const problem = (await database.findProblem()) ?? (await reading.findProblem())
  let serving: ReturnType<typeof lockServing> | undefined
  const close = async () => {
    serving?.close()
    await feed?.close()
    await Promise.all([database.close(), reading.close()])
  }
  if (problem !== undefined) {
    await close()
    throw new DataFileError(path, problem)
  }
  return {
    ...toThreadConnection(path, database, reading),
    onAudited: (confirm) => Object.assign(confirming, { confirm }),
    files: [],
    connectThread: () => undefined,
    feed,
    // The feed tells.
    hasExternalChanges: async () => false,
    lockForServing: async () => {
      serving ??= lockServing(dataDir)
    },
    abandonUnanswered: () => {
      if (fault !== undefined || feed?.problem !== undefined) abandonQueries()
    },
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
  const confirming = { confirm: async () => {} }
  const database = new Database(
    path,
    createPool(settings, { max: 2, queryMs: statementMs, isThread: true }),
    {
      ...createDriverOptions(settings),
      recordsChanges: true,
      confirm: () => confirming.confirm(),
    },
  )
  return {
    ...toThreadConnection(path, database, database),
    onAudited: (confirm) => Object.assign(confirming, { confirm }),
  }
}

function createDriverOptions(
  settings: PostgresSettings,
  findFault: DriverOptions['findFault'] = () => undefined,
): DriverOptions {
  return {
    findFault,
    cancelStandbyWait: (processId) => void cancelStandbyWait(settings, processId),
  }
}

function toThreadConnection(
  path: string,
  { db }: Database,
  { db: reads }: Database,
): Omit<EngineThreadConnection, 'onAudited'> {
  return {
    path,
    db,
    reads,
    traits,
    prepareRead: (query) => batchReads(query, (batch) => reads.executeQuery(batch)),
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
  readonly driver: PoolDriver
  readonly #pool: pg.Pool

  constructor(path: string, pool: pg.Pool, options: DriverOptions) {
    this.#pool = pool
    this.driver = new PoolDriver(path, pool, options)
    this.db = new Kysely<Tables>({ dialect: new PoolDialect(this.driver) })
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
