/**
 * SQLite, the default engine: one file in the data folder, nothing else to run.
 * The only file that knows better-sqlite3.
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
import { AppError, DataFileError } from '../errors.js'
import { makeFolder } from '../folders.js'
import {
  databasePath,
  evidenceIn,
  hasBytes,
  type MayCreate,
  markInitialized,
  OpenFiles,
  refuseUnwantedDatabase,
} from './database-files.js'
import type { EngineConnection, EngineTraits, StorageSettings } from './engine.js'
import { type QuickCheck, quickCheck } from './quick-check.js'
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
 * Opens `callgate.sqlite` in the folder, making both if needed. Every acknowledged write is on
 * disk (`synchronous=FULL`); readers are not held up by writers (WAL).
 */
export function openSqlite(settings: StorageSettings): EngineConnection {
  const { dataDir, blockForLockMs, createDatabase = true, init = false } = settings
  const path = databasePath(dataDir)
  const connection = connect(dataDir, { blockForLockMs, createDatabase, init })
  // Reading makes the -wal and -shm files, which are watched from here on.
  const version = Number(connection.pragma('user_version', { simple: true }))
  const health = new DatabaseHealth(path)
  let serving: Sqlite.Database | undefined
  const db = new Kysely<Tables>({
    dialect: new QueuedDialect({
      database: withStatementCache(connection),
      isInTransaction: () => connection.inTransaction,
      fault: () => health.fault(),
      failed: (cause) => health.noteFailure(cause),
    }),
  })
  return {
    path,
    db,
    traits,
    changedElsewhere: foreignWrites(connection),
    serveAlone: () => {
      serving ??= lockServing(dataDir)
    },
    markInitialized: () => markInitialized(dataDir),
    fault: () => health.fault(),
    checkPages: () => health.checkPages(),
    // Setting the same version again changes nothing, and is a commit on disk like any other.
    writeNothing: async () => {
      await db.executeQuery(CompiledQuery.raw(`pragma user_version = ${version}`))
    },
    close: async () => {
      health.close()
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
  #damage: string | undefined
  /** What a query came upon; a check of the pages does not look everywhere that queries do. */
  #metDamage: string | undefined
  #closed = false

  constructor(path: string) {
    this.#path = path
    this.#files = new OpenFiles(path)
  }

  fault(): string | undefined {
    if (this.#closed) return this.#metDamage ?? this.#damage
    const { lost, hasShrunk } = this.#files.look()
    if (lost !== undefined) {
      return (
        `${lost}: the file was removed, replaced or emptied while callgate runs, so nothing is allowed or ` +
        'stored. Move the same file back, or restore a backup and restart callgate'
      )
    }
    if (hasShrunk) {
      this.#damage = `${this.#path}: the file became smaller; its pages are being checked`
      this.#check?.stop()
      this.#check = undefined
      void this.checkPages().catch(() => undefined)
    }
    return this.#metDamage ?? this.#damage
  }

  /** Damage that a statement comes upon stays until the program ends, whatever is read after it. */
  noteFailure(cause: unknown): void {
    if (cause instanceof Sqlite.SqliteError && /^SQLITE_(?:CORRUPT|NOTADB)/.test(cause.code)) {
      this.#metDamage ??= this.#damageText(cause.message)
    }
  }

  async checkPages(): Promise<void> {
    if (this.#closed) return
    const check = quickCheck(this.#path)
    this.#check = check
    try {
      const damage = await check.damage
      if (this.#check === check) this.#damage = damage && this.#damageText(damage)
    } catch (cause) {
      if (this.#closed || this.#check !== check) return
      if (this.#damage !== undefined) this.#damage = this.#damageText('its pages cannot be read')
      throw cause
    }
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

interface QueuedConfig extends SqliteDialectConfig {
  readonly isInTransaction: () => boolean
  /** Why nothing that was read or written may be relied on. */
  readonly fault: () => string | undefined
  /** Told of every statement that fails. */
  readonly failed: (cause: unknown) => void
}

/**
 * Hands the one connection from query to query in their order. Kysely's own driver wakes every
 * waiting query at each turn, which makes many decisions at once cost the square of their number.
 */
class QueuedDriver extends SqliteDriver {
  readonly #config: QueuedConfig
  readonly #waiting: (() => void)[] = []
  #connection: Promise<DatabaseConnection> | undefined
  #taken = false

  constructor(config: QueuedConfig) {
    super(config)
    this.#config = config
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#connection ??= super
      .acquireConnection()
      .then((connection) => withFailuresTold(connection, this.#config.failed))
    const connection = await this.#connection
    if (this.#taken) await new Promise<void>((resume) => this.#waiting.push(resume))
    this.#taken = true
    return connection
  }

  /**
   * Every query and every transaction ends here, after its commit. One whose files are gone fails,
   * although SQLite has reported success.
   */
  override async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken = false
    const fault = this.#config.fault()
    if (fault !== undefined) throw new AppError('not-available', fault)
  }

  /** A full disk has ended the transaction already; failing here would hide what the disk said. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#config.isInTransaction()) await super.rollbackTransaction(connection)
  }
}

/** Statements run, and fail, before the promise of their result is made. */
function withFailuresTold(
  connection: DatabaseConnection,
  failed: (cause: unknown) => void,
): DatabaseConnection {
  return {
    executeQuery(query) {
      try {
        return connection.executeQuery(query)
      } catch (cause) {
        failed(cause)
        throw cause
      }
    },
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  }
}

class AtomicMigrations extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class QueuedDialect extends SqliteDialect {
  readonly #config: QueuedConfig

  constructor(config: QueuedConfig) {
    super(config)
    this.#config = config
  }

  /** All missing migrations together or none: SQLite can, although Kysely does not rely on it. */
  override createAdapter(): SqliteAdapter {
    return new AtomicMigrations()
  }

  override createDriver(): Driver {
    return new QueuedDriver(this.#config)
  }
}

/** A lock that ends with the process, however it ends: an open transaction on a file of its own. */
function lockServing(dataDir: string): Sqlite.Database {
  const path = join(dataDir, 'serving.lock')
  const lock = new Sqlite(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (cause) {
    lock.close()
    throw new DataFileError(path, 'another callgate serves from this data folder', cause)
  }
}

interface ConnectOptions extends MayCreate {
  readonly blockForLockMs: number
}

function connect(dataDir: string, { blockForLockMs, ...mayCreate }: ConnectOptions) {
  const path = databasePath(dataDir)
  const evidence = evidenceIn(dataDir)
  if (!hasBytes(path)) refuseUnwantedDatabase(path, { hasContent: false, evidence }, mayCreate)
  makeFolder(dataDir)
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
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new DataFileError(path, `the database cannot be opened: ${why}`, cause)
  }
}

/** SQLite's data version moves with every commit of another connection, and not with our own. */
function foreignWrites(connection: Sqlite.Database): () => boolean {
  const read = () => connection.pragma('data_version', { simple: true })
  let seen = read()
  return () => {
    const now = read()
    const changed = now !== seen
    seen = now
    return changed
  }
}

/** Preparing a statement costs several times what running a point query does. */
function withStatementCache(connection: Sqlite.Database): SqliteDatabase {
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
