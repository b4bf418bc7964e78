/** Opens the database. Queries are in Kysely, in the folders of the subjects that own the tables. */

import { serverAuthor } from '../domain/caller.js'
import { AppError, getErrorMessage } from '../errors.js'
import { monotonicSeconds, sleep } from '../runtime/runtime.js'
import type {
  EngineThreadConnection,
  OpenDatabase,
  StorageSettings,
  ThreadDatabase,
  ThreadStorageSettings,
} from './open-database.js'
import { openSqlite, openSqliteInThread } from './sqlite.js'

/**
 * Rejects with a {@link DataFileError} if the database cannot be opened, or if opening would create a new one
 * against the settings.
 */
export async function openDatabase(settings: StorageSettings): Promise<OpenDatabase> {
  const { postgres } = settings
  const opened = postgres
    ? await (await loadPostgres()).openPostgres(postgres, {
        isCommand: !settings.inThread,
        dataDir: settings.dataDir,
      })
    : await openSqlite(settings)
  return complete(opened, settings)
}

/** In that thread, queries run on a connection of its own, and transactions take turns with those of others. */
export async function openDatabaseInThread(
  settings: ThreadStorageSettings,
): Promise<ThreadDatabase> {
  const { postgres } = settings
  const opened = postgres
    ? (await loadPostgres()).openPostgresInThread(postgres)
    : openSqliteInThread(settings)
  return complete(opened, settings)
}

function complete<Opened extends EngineThreadConnection>(
  opened: Opened,
  settings: Pick<StorageSettings, 'isCopy' | 'lockWaitMs' | 'author'>,
) {
  const traits = { ...opened.traits, isCopy: settings.isCopy === true }
  const { author = serverAuthor } = settings
  return { ...opened, traits, author, retryWhileLocked: retryWhileLocked(opened, settings) }
}

/** Its driver is loaded only by those who use it. */
const loadPostgres = () => import('./postgres/postgres.js')

function retryWhileLocked(
  opened: EngineThreadConnection,
  { lockWaitMs }: Pick<StorageSettings, 'lockWaitMs'>,
): ThreadDatabase['retryWhileLocked'] {
  return async (work) => {
    const giveUpAt = monotonicSeconds() + lockWaitMs / 1000
    for (;;) {
      try {
        return await work()
      } catch (cause) {
        await pauseBeforeRetry(cause, giveUpAt, opened)
      }
    }
  }
}

const lockPauseMs = 5

async function pauseBeforeRetry(
  cause: unknown,
  giveUpAtSeconds: number,
  { path, traits }: EngineThreadConnection,
): Promise<void> {
  if (traits.isFull(cause)) throw diskFullError(path, cause)
  if (traits.isDiskError(cause)) throw unconfirmedError(path, cause)
  if (!traits.isLockedElsewhere(cause)) throw cause
  if (monotonicSeconds() >= giveUpAtSeconds) throw databaseBusyError(cause)
  await sleep(lockPauseMs)
}

function diskFullError(path: string, cause: unknown): AppError {
  const why = getErrorMessage(cause)
  const problem = `Nothing was stored, since the disk is full (${path}: ${why})`
  return new AppError('not-available', `${problem}; free space there and send it again`, { cause })
}

/** A commit that was not flushed may still be on the disk, and count from the next start on. */
function unconfirmedError(path: string, cause: unknown): AppError {
  const why = getErrorMessage(cause)
  const problem = `The change is not confirmed, since the disk failed (${path}: ${why})`
  const advice = 'it may be in force already; send it again'
  return new AppError('not-available', `${problem}; ${advice}`, { cause, retryAfterSeconds: 1 })
}

/** Nothing was changed, so the same write may be sent again. */
function databaseBusyError(cause: unknown): AppError {
  const message = 'The database is locked by another process; nothing was changed'
  return new AppError('not-available', message, { cause, retryAfterSeconds: 1 })
}
