/** The SQL engines by name. Queries are written once, in Kysely, by the subjects that own them. */

import { monotonicSeconds } from '../domain/clock.js'
import { AppError } from '../errors.js'
import { openSqlite } from './sqlite.js'
import type { Db } from './tables.js'

/** What may differ between engines; nothing else may branch on the engine. */
export interface EngineTraits {
  readonly name: string
  /** How many bound values one statement may carry. */
  readonly maxParameters: number
  /** Whether a statement failed only because another process holds a lock; it may be tried again. */
  isLockedElsewhere(cause: unknown): boolean
  /** Whether a statement failed because there is no room on the disk. */
  isFull(cause: unknown): boolean
}

export interface OpenDatabase {
  /** Of the database file, for messages. */
  readonly path: string
  /** A query or transaction rejects with `not-available` while there is a {@link OpenDatabase.fault}. */
  readonly db: Db
  readonly traits: EngineTraits
  /**
   * Runs a whole transaction, and again while another process holds a lock, for at most
   * `lockWaitMs`. Nothing else is held up meanwhile. Rejects with `not-available` when the lock stays or
   * the disk is full: nothing was stored then.
   */
  patiently<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Makes this the only server over the data until it is closed: each keeps answers in memory and
   * would not see the other's writes at once. Throws {@link DataFileError} when there is one already.
   */
  serveAlone(): void
  /** Whether another process has written since the last time this was asked. */
  changedElsewhere(): boolean
  /** Notes in the data folder that it holds a database: no other command makes a new one there. */
  markInitialized(): void
  /**
   * Why nothing that is read or written can be relied on, for people: a file of the database was
   * removed or replaced under the open connection, or pages are damaged, as a check or a query found.
   */
  fault(): string | undefined
  /**
   * Reads every page outside this process. Damage becomes the {@link OpenDatabase.fault}. Rejects
   * when the check could not be made.
   */
  checkPages(): Promise<void>
  /** Commits a write that changes nothing: rejects where a record could not be written either. */
  writeNothing(): Promise<void>
  /** Closes the connections; pending transactions end first. */
  close(): Promise<void>
}

export interface StorageSettings {
  readonly engine: EngineName
  /** Folder of the SQLite file. */
  readonly dataDir: string
  /**
   * How long a statement holds up the whole process for a lock that another process has. A server
   * gives 0 and tries again later.
   */
  readonly blockForLockMs: number
  readonly lockWaitMs: number
  /** False: no new database is made unless `init` asks for it. */
  readonly createDatabase?: boolean
  /** Makes a new database, also in a folder that has held one; refused where there is one. */
  readonly init?: boolean
}

const engines = { sqlite: openSqlite } as const
export type EngineName = keyof typeof engines
/**
 * Throws {@link DataFileError} when the database cannot be opened, and where opening would make a
 * new one that nobody asked for.
 */
export function openDatabase(settings: StorageSettings): OpenDatabase {
  const opened = engines[settings.engine](settings)
  const patiently = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const giveUpAt = monotonicSeconds() + settings.lockWaitMs / 1000
    for (;;) {
      try {
        return await work()
      } catch (cause) {
        await pauseOrGiveUp(cause, giveUpAt, opened)
      }
    }
  }
  return { ...opened, patiently }
}

/** What an engine's own file opens. */
export type EngineConnection = Omit<OpenDatabase, 'patiently'>

const lockPauseMs = 5

async function pauseOrGiveUp(
  cause: unknown,
  giveUpAtSeconds: number,
  { path, traits }: Pick<EngineConnection, 'path' | 'traits'>,
): Promise<void> {
  if (traits.isFull(cause)) throw full(path, cause)
  if (!traits.isLockedElsewhere(cause)) throw cause
  if (monotonicSeconds() >= giveUpAtSeconds) throw busy(cause)
  await new Promise((resume) => setTimeout(resume, lockPauseMs))
}

function full(path: string, cause: unknown): AppError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const problem = `Nothing was stored, since the disk is full (${path}: ${why})`
  return new AppError('not-available', `${problem}; free space there and send it again`, { cause })
}

/** A write that was refused so has changed nothing; the same may be sent again. */
function busy(cause: unknown): AppError {
  const message = 'The database is held by another process; nothing was changed'
  return new AppError('not-available', message, { cause, retryAfterSeconds: 1 })
}
