/**
 * SQLite: one file in the data folder, nothing else to run. The only file of the database that imports
 * better-sqlite3.
 */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely'
import { AppError, DataFileError, getErrorMessage } from '../errors.js'
import { ensureFolder } from '../runtime/folders.js'
import {
  type DatabaseCreationOptions,
  findDatabaseEvidence,
  markInitialized,
  refuseUnwantedDatabase,
  resolveDatabasePath,
} from './database-files.js'
import type { EngineConnection, EngineTraits, StorageSettings } from './open-database.js'
import { inspectFile, listDatabaseFiles, type OpenedFile, OpenFiles } from './open-files.js'
import { type QuickCheck, startQuickCheck } from './quick-check.js'
import type { Tables } from './tables.js'

const traits: EngineTraits = {
  name: 'sqlite',
  maxParameters: 32_000,
  isLockedElsewhere: (cause) =>
    cause instanceof Sqlite.SqliteError && cause.code.startsWith('SQLITE_BUSY'),
  isFull: (cause) => cause instanceof Sqlite.SqliteError && cause.code === 'SQLITE_FULL',
}

const cachedStatements = 500

/**
 * Opens `callgate.sqlite` in the folder, and creates both if needed. Every acknowledged write is on
 * disk (`synchronous=FULL`); writers do not block readers (WAL).
 */
export function openSqlite(settings: StorageSettings): EngineConnection {
  const { dataDir, blockForLockMs, createDatabase = true, init = false, readOnly } = settings
  const path = resolveDatabasePath(dataDir)
  const connection = connect(dataDir, { blockForLockMs, createDatabase, init })
  if (readOnly) connection.pragma('query_only = ON')
  // Reading creates the -wal and -shm files, which are monitored from here on.
  const version = Number(connection.pragma('user_version', { simple: true }))
  const files = listDatabaseFiles(path)
  const health = new DatabaseHealth(path, files)
  let serving: Sqlite.Database | undefined
  const config = { database: addStatementCache(connection), connection, health }
  const driver = new QueuedDriver(config)
  const db = new Kysely<Tables>({ dialect: new QueuedDialect(driver, config) })
  const reader = new Sqlite(path, { readonly: true, timeout: blockForLockMs })
  return {
    path,
    files,
    db,
    traits,
    prepareRead: <Row>({ sql }: CompiledQuery<Row>) => {
      const statement = reader.prepare<unknown[], Row>(sql)
      return statement.get.bind(statement)
    },
    observeFailure: (cause) => health.observeFailure(cause),
    hasExternalChanges: createExternalWriteProbe(connection),
    lockForServing: () => {
      serving ??= lockServing(dataDir)
    },
    markInitialized: () => markInitialized(dataDir),
    findFault: () => health.findFault(),
    onDamageChange: (listener) => health.onDamageChange(listener),
    checkIntegrity: () => health.checkIntegrity(),
    // Setting the same version again changes nothing, but is a commit on disk like any other.
    probeWrite: async () => {
      await db.executeQuery(CompiledQuery.raw(`pragma user_version = ${version}`))
    },
    close: async () => {
      health.close()
      reader.close()
      await db.destroy()
      serving?.close()
    },
  }
}

/** Why the open database cannot be trusted, if it cannot. */
class DatabaseHealth {
  readonly #path: string
  readonly #files: OpenFiles
  #check: QuickCheck | undefined
  /** By the last check of the pages. */
  #damage: string | undefined
  /** Found by a query. The check of the pages does not look everywhere that queries do. */
  #observedDamage: string | undefined
  #onDamageChange: () => void = () => undefined
  #closed = false

  constructor(path: string, files: readonly OpenedFile[]) {
    this.#path = path
    this.#files = new OpenFiles(files)
  }

  onDamageChange(listener: () => void): void {
    this.#onDamageChange = listener
  }

  findFault(): string | undefined {
    if (this.#closed) return this.#observedDamage ?? this.#damage
    const lost = this.#files.findLost()
    if (lost !== undefined) return describeLostFile(lost)
    if (this.#files.hasShrunk()) {
      this.#setDamage(`${this.#path}: the file became smaller; its pages are being checked`)
      this.#check?.stop()
      this.#check = undefined
      void this.checkIntegrity().catch(() => undefined)
    }
    return this.#observedDamage ?? this.#damage
  }

  /** Damage that a statement finds remains until the program ends, whatever is read after it. */
  observeFailure(cause: unknown): void {
    if (cause instanceof Sqlite.SqliteError && /^SQLITE_(?:CORRUPT|NOTADB)/.test(cause.code)) {
      this.#observedDamage ??= this.#damageText(cause.message)
      this.#onDamageChange()
    }
  }

  async checkIntegrity(): Promise<void> {
    if (this.#closed) return
    const check = startQuickCheck(this.#path)
    this.#check = check
    try {
      const damage = await check.damage
      if (this.#check === check) this.#setDamage(damage && this.#damageText(damage))
    } catch (cause) {
      if (this.#closed || this.#check !== check) return
      if (this.#damage !== undefined) this.#setDamage(this.#damageText('its pages cannot be read'))
      throw cause
    }
  }

  #setDamage(damage: string | undefined): void {
    this.#damage = damage
    this.#onDamageChange()
  }

  #damageText(damage: string): string {
    return (
      `${this.#path}: the database is damaged (${damage}), so nothing is allowed or stored. ` +
      'Stop callgate and restore a backup'
    )
  }

  close(): void {
    this.#closed = true
    this.#check?.stop()
    this.#files.close()
  }
}

function describeLostFile(path: string): string {
  return (
    `${path}: the file was removed, replaced or emptied while callgate runs, so nothing is allowed or ` +
    'stored. Move the same file back, or restore a backup and restart callgate'
  )
}

interface QueuedDriverConfig extends SqliteDialectConfig {
  readonly connection: Sqlite.Database
  readonly health: DatabaseHealth
}

/**
 * Hands the one connection from query to query in their order. Kysely's own driver wakes every
 * waiting query at each turn, which makes many decisions at once cost the square of their number.
 */
class QueuedDriver extends SqliteDriver {
  readonly #config: QueuedDriverConfig
  readonly #waiting: (() => void)[] = []
  #kyselyConnection: Promise<DatabaseConnection> | undefined
  #isTaken = false

  constructor(config: QueuedDriverConfig) {
    super(config)
    this.#config = config
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#kyselyConnection ??= super
      .acquireConnection()
      .then((connection) => withFailureReporting(connection, this.#config.health))
    const connection = await this.#kyselyConnection
    await this.#waitForTurn()
    return connection
  }

  async #waitForTurn(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((resume) => this.#waiting.push(resume))
    this.#isTaken = true
  }

  /**
   * Every query and every transaction ends here, after its commit. It fails if the files are gone,
   * although SQLite reported success.
   */
  override async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#isTaken = false
    const fault = this.#config.health.findFault()
    if (fault !== undefined) throw new AppError('not-available', fault)
  }

  /** A full disk has ended the transaction already; failing here would hide the original error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#config.connection.inTransaction) await super.rollbackTransaction(connection)
  }
}

/** Statements run, and fail, before the promise of their result is created. */
function withFailureReporting(
  connection: DatabaseConnection,
  health: DatabaseHealth,
): DatabaseConnection {
  return {
    executeQuery(query) {
      try {
        return connection.executeQuery(query)
      } catch (cause) {
        health.observeFailure(cause)
        throw cause
      }
    },
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  }
}

class TransactionalMigrationAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class QueuedDialect extends SqliteDialect {
  readonly #driver: QueuedDriver

  constructor(driver: QueuedDriver, config: SqliteDialectConfig) {
    super(config)
    this.#driver = driver
  }

  /** All missing migrations together or none: SQLite can, although Kysely does not rely on it. */
  override createAdapter(): SqliteAdapter {
    return new TransactionalMigrationAdapter()
  }

  override createDriver(): Driver {
    return this.#driver
  }
}

/** A lock that ends with the process, however it ends: an open transaction on a separate file. */
function lockServing(dataDir: string): Sqlite.Database {
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

interface ConnectOptions extends DatabaseCreationOptions {
  readonly blockForLockMs: number
}

function connect(dataDir: string, { blockForLockMs, ...mayCreate }: ConnectOptions) {
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
    return connection
  } catch (cause) {
    connection?.close()
    if (cause instanceof DataFileError) throw cause
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `the database cannot be opened: ${why}`, cause)
  }
}

/** SQLite's data version changes with every commit of another connection, and not with our own. */
function createExternalWriteProbe(connection: Sqlite.Database): () => boolean {
  const read = () => connection.pragma('data_version', { simple: true })
  let seen = read()
  return () => {
    const now = read()
    const changed = now !== seen
    seen = now
    return changed
  }
}

/** Preparing a statement costs several times as much as running a point query. */
function addStatementCache(connection: Sqlite.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const known = statements.get(sql)
      if (known) return known
      const made = connection.prepare(sql)
      if (statements.size >= cachedStatements) statements.clear()
      statements.set(sql, made as SqliteStatement)
      return made as SqliteStatement
    },
    close() {
      connection.close()
    },
  }
}
