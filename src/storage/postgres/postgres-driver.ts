/** Runs the queries of Kysely on a pool of connections to PostgreSQL. */
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type pg from 'pg'
import { AppError, getErrorCode, getErrorMessage } from '../../errors.js'
import type { OpenDatabase, SeenChange } from '../open-database.js'

export const diskFull = '53100'
/** After a move to another server. */
const readOnlyTransaction = '25006'

export class PoolDialect implements Dialect {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  createDriver(): Driver {
    return this.#driver
  }

  createAdapter(): PostgresAdapter {
    return new PostgresAdapter()
  }

  createQueryCompiler(): PostgresQueryCompiler {
    return new PostgresQueryCompiler()
  }

  createIntrospector(db: Kysely<unknown>): PostgresIntrospector {
    return new PostgresIntrospector(db)
  }
}

export interface DriverOptions {
  /** See {@link RecordingConnection}. */
  readonly recordsChanges?: boolean
  /** Queries are refused at once while there is one, instead of each waiting for the server. */
  readonly findFault?: () => string | undefined
  /** Called with each change that names its numbers, once it is committed. */
  readonly onChange?: (change: SeenChange) => void
  /** See {@link OpenDatabase.onAudited}. */
  readonly confirm?: () => Promise<void>
  /** Makes the server answer a commit of that process of it which only waits for a standby. */
  readonly cancelStandbyWait: (processId: number) => void
}

/** As that of Kysely, and a connection that failed is not used again: its answer may still come. */
export class PoolDriver implements Driver {
  readonly #path: string
  readonly #pool: pg.Pool
  readonly #options: DriverOptions
  readonly #inUse = new Set<PoolConnection>()
  /** Those of an earlier generation are not used again. */
  #generation = 0
  readonly #generations = new WeakMap<pg.PoolClient, number>()

  /** `path` names the database in messages. */
  constructor(path: string, pool: pg.Pool, options: DriverOptions) {
    this.#path = path
    this.#pool = pool
    this.#options = options
    pool.on('connect', (client) => this.#generations.set(client, this.#generation))
  }

  /** Uses new connections from now on, since those that are open may be to a server that is no longer the primary. */
  renewConnections(): void {
    this.#generation += 1
  }

  /** Queries that are under way fail, so that nobody waits for a server that does not answer. */
  abandonQueries(): void {
    for (const connection of this.#inUse) connection.abandon()
  }

  async init(): Promise<void> {}

  async destroy(): Promise<void> {}

  async acquireConnection(): Promise<PoolConnection> {
    const fault = this.#options.findFault?.()
    if (fault !== undefined) throw new AppError('not-available', fault, { retryAfterSeconds: 1 })
    try {
      const client = await this.#connect()
      const Connection = this.#options.recordsChanges ? RecordingConnection : PoolConnection
      const connection = new Connection(this.#path, client, this.#options)
      this.#inUse.add(connection)
      return connection
    } catch (cause) {
      throw notAvailable(this.#path, cause)
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect()
      if (this.#generations.get(client) === this.#generation) return client
      client.release(true)
    }
  }

  async beginTransaction(
    connection: PoolConnection,
    { isolationLevel }: TransactionSettings,
  ): Promise<void> {
    await connection.begin(isolationLevel)
  }

  async commitTransaction(connection: PoolConnection): Promise<void> {
    await connection.commit()
  }

  async rollbackTransaction(connection: PoolConnection): Promise<void> {
    await connection.rollback()
  }

  async releaseConnection(connection: PoolConnection): Promise<void> {
    this.#inUse.delete(connection)
    connection.release()
    if (connection.isAudited) await this.#options.confirm?.()
  }
}

const changingCommands: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE'])

/** PostgreSQL itself would wait for a standby without end, and hold the locks of the transaction meanwhile. */
const waitForStandbyMs = 5_000

class PoolConnection implements DatabaseConnection {
  /** Whether a transaction was committed that has added a row to the audit table. */
  isAudited = false
  readonly #path: string
  readonly #client: pg.PoolClient
  protected readonly options: DriverOptions
  #isBroken = false
  /** Of the latest query; the server then says that it has succeeded. */
  #lacksStandby = false
  readonly #onError = () => {
    this.#isBroken = true
  }
  readonly #onNotice = ({ routine }: { readonly routine?: string | undefined }) => {
    // Its texts may be in another language, and its code is that of any warning.
    if (routine === 'SyncRepWaitForLSN') this.#lacksStandby = true
  }

  constructor(path: string, client: pg.PoolClient, options: DriverOptions) {
    this.#path = path
    this.#client = client
    this.options = options
    client.on('notice', this.#onNotice)
    // The pool listens only to idle connections. Without a listener, the end of this one would end the program.
    client.on('error', this.#onError)
  }

  async begin(isolationLevel = 'read committed'): Promise<void> {
    await this.run(`begin isolation level ${isolationLevel}`)
  }

  async commit(): Promise<void> {
    await this.run('commit')
  }

  protected run(sql: string): Promise<QueryResult<unknown>> {
    return this.executeQuery(CompiledQuery.raw(sql))
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const query = this.#client.query(sql, parameters.map(toStorable))
      const { command, rowCount, rows } = await (sql.startsWith('select')
        ? query
        : this.#requireConfirmation(query))
      if (!changingCommands.has(command)) return { rows }
      return { rows, numAffectedRows: BigInt(rowCount ?? 0) }
    } catch (cause) {
      if (!isUnreachable(cause)) throw cause
      this.#isBroken = true
      throw notAvailable(this.#path, cause)
    }
  }

  /** It may be committed then, but a failover would lose it, so it is not acknowledged. */
  async #requireConfirmation(query: Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    this.#lacksStandby = false
    const { processID } = this.#client as { readonly processID?: number }
    const timer = setTimeout(() => this.options.cancelStandbyWait(processID ?? 0), waitForStandbyMs)
    try {
      const result = await query
      if (this.#lacksStandby) throw new Error('it is stored, but no standby has confirmed it')
      return result
    } finally {
      clearTimeout(timer)
    }
  }

  /** Also by ending a connection that failed. */
  async rollback(): Promise<void> {
    if (!this.#isBroken) await this.run('rollback')
  }

  abandon(): void {
    this.#isBroken = true
    void this.#client.end().catch(() => undefined)
  }

  release(): void {
    this.#client.off('error', this.#onError)
    this.#client.off('notice', this.#onNotice)
    this.#client.release(this.#isBroken)
  }

  streamQuery(): never {
    throw new Error('results of the database are not streamed')
  }
}

/** A text of PostgreSQL has no U+0000. Like a character that is not whole, it becomes U+FFFD. */
function toStorable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toStorable)
  return typeof value === 'string' && value.includes('\0')
    ? value.replaceAll('\0', '\ufffd')
    : value
}

/** No decision and no caller's rights depend on what is in them; a token is remembered for a second at most. */
const otherTables: ReadonlySet<string> = new Set([
  // Each server reads it once a second.
  'abandonment_counts',
  'access_tokens',
  'answered_calls',
  'approvals',
  'attempts',
  'audit',
  'change_head',
  'change_requests',
  'console_sessions',
  'changes',
  'decision_blocks',
  'erased_journals',
  'flag_removals',
  'journal_positions',
  'journals',
  'key_uses',
  'key_versions',
  'label_observations',
  'monitored_numbers',
  'opt_out_statements',
  'consents',
  'people',
  'permit_keys',
  'permits',
  'recorded_outcomes',
  'repeated_requests',
  'scan_jobs',
  'scan_numbers',
  'shared_limits',
  'webhook_attempts',
  'webhook_events',
])
/** What is written to them is described by a row of `changes`, which names the numbers. */
const numberTables: ReadonlySet<string> = new Set([
  'internal_dnc',
  'internal_dnc_lists',
  'ebr_records',
])

/**
 * Adds a row to `changes` in each transaction that writes to other tables than those above and has added none itself, so that
 * a new table or a new write is not forgotten. It names no numbers, so all servers drop all that they have cached.
 */
class RecordingConnection extends PoolConnection {
  #isInTransaction = false
  #described: SeenChange | undefined
  #hasNumbers = false
  #hasOthers = false
  #addsToAudit = false

  override async begin(isolationLevel?: string): Promise<void> {
    await super.begin(isolationLevel)
    this.#isInTransaction = true
    this.#described = undefined
    this.#hasNumbers = false
    this.#hasOthers = false
    this.#addsToAudit = false
  }

  override async commit(): Promise<void> {
    this.#isInTransaction = false
    if (this.#hasOthers || (this.#hasNumbers && !this.#described)) await this.#record()
    await super.commit()
    this.isAudited ||= this.#addsToAudit
    if (this.#described) this.options.onChange?.(this.#described)
  }

  override async rollback(): Promise<void> {
    this.#isInTransaction = false
    await super.rollback()
  }

  override async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const table = findWrittenTable(query.sql)
    if (table === undefined || otherTables.has(table) || isOfImport(table)) {
      const result = await super.executeQuery<Row>(query)
      if (table === 'changes') this.#described = result.rows[0] as SeenChange | undefined
      if (table === 'audit' && query.sql.startsWith('insert')) this.#addsToAudit = true
      return result
    }
    if (this.#isInTransaction) return await this.#write<Row>(query, table)
    await this.begin()
    try {
      const result = await this.#write<Row>(query, table)
      await this.commit()
      return result
    } catch (cause) {
      await this.rollback()
      throw cause
    }
  }

  async #write<Row>(query: CompiledQuery, table: string): Promise<QueryResult<Row>> {
    const result = await super.executeQuery<Row>(query)
    if (result.numAffectedRows === 0n) return result
    if (numberTables.has(table)) this.#hasNumbers = true
    else this.#hasOthers = true
    return result
  }

  async #record(): Promise<void> {
    const allNumbers = this.#hasNumbers && !this.#described ? 1 : 0
    await super.executeQuery(
      CompiledQuery.raw(`with head as (update change_head set seq = seq + 1 returning seq)
        insert into changes (seq, at, all_numbers)
        select seq, (extract(epoch from clock_timestamp()) * 1000)::bigint, ${allNumbers} from head`),
    )
  }
}

/** The temporary tables of an import of records. */
const isOfImport = (table: string) => table.startsWith('import_')

const plainWrite = /^\s*(?:insert\s+into|update|delete\s+from)\s+"?(\w+)/i
const read = /^\s*(?:select|fetch|declare|close|begin|commit|rollback|set|create|drop|analyze)\b/i
const anyWrite = /\b(?:insert|update|delete|merge|truncate|copy|do)\b/i

/** An empty name if it writes and the table cannot be told, `undefined` if it does not write. */
function findWrittenTable(sql: string): string | undefined {
  const [, table] = plainWrite.exec(sql) ?? []
  if (table !== undefined) return table
  return !read.test(sql) && anyWrite.test(sql) ? '' : undefined
}

/** Errors of connections have a longer code or none. Of the server's classes, 08 is the connection, 53 is resources, 57 is a stop. */
function isUnreachable(cause: unknown): boolean {
  if (cause instanceof RangeError || cause instanceof TypeError) return false
  const code = getErrorCode(cause)
  if (code === undefined || code.length !== 5) return true
  return code !== diskFull && (code === readOnlyTransaction || /^(?:08|53|57)/.test(code))
}

function notAvailable(path: string, cause: unknown): AppError {
  const problem = `The database ${path} does not answer: ${getErrorMessage(cause)}`
  const advice = 'What was sent may be stored or not; send it again'
  return new AppError('not-available', `${problem}. ${advice}`, { cause, retryAfterSeconds: 1 })
}
