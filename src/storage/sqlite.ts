/**
 * SQLite, the default engine: one file in the data folder, nothing else to run.
 * The only file that knows better-sqlite3.
 */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely'
import { DataFileError } from '../errors.js'
import { makeFolder } from '../make-folder.js'
import type { EngineConnection, EngineTraits, StorageSettings } from './engine.js'
import type { Tables } from './tables.js'

const traits: EngineTraits = {
  name: 'sqlite',
  maxParameters: 32_000,
  isLockedElsewhere: (cause) =>
    cause instanceof Sqlite.SqliteError && cause.code.startsWith('SQLITE_BUSY'),
}

const cachedStatements = 500

/**
 * Opens `callgate.sqlite` in the folder, making both if needed. Every acknowledged write is on
 * disk (`synchronous=FULL`); readers are not held up by writers (WAL).
 */
export function openSqlite({
  dataDir,
  blockForLockMs,
}: Pick<StorageSettings, 'dataDir' | 'blockForLockMs'>): EngineConnection {
  const connection = connect(dataDir, blockForLockMs)
  let serving: Sqlite.Database | undefined
  const db = new Kysely<Tables>({
    dialect: new QueuedDialect({ database: withStatementCache(connection) }),
  })
  return {
    db,
    traits,
    changedElsewhere: foreignWrites(connection),
    serveAlone: () => {
      serving ??= lockServing(dataDir)
    },
    close: async () => {
      await db.destroy()
      serving?.close()
    },
  }
}

/**
 * Hands the one connection from query to query in their order. Kysely's own driver wakes every
 * waiting query at each turn, which makes many decisions at once cost the square of their number.
 */
class QueuedDriver extends SqliteDriver {
  readonly #waiting: (() => void)[] = []
  #connection: Promise<DatabaseConnection> | undefined
  #taken = false

  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#connection ??= super.acquireConnection()
    const connection = await this.#connection
    if (this.#taken) await new Promise<void>((resume) => this.#waiting.push(resume))
    this.#taken = true
    return connection
  }

  override async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken = false
  }
}

class QueuedDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig

  constructor(config: SqliteDialectConfig) {
    super(config)
    this.#config = config
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

function connect(dataDir: string, blockForLockMs: number): Sqlite.Database {
  const path = join(dataDir, 'callgate.sqlite')
  makeFolder(dataDir)
  try {
    const connection = new Sqlite(path, { timeout: blockForLockMs })
    connection.pragma('journal_mode = WAL')
    connection.pragma('synchronous = FULL')
    connection.pragma('foreign_keys = ON')
    return connection
  } catch (cause) {
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
