/** Opens the database. Queries are in Kysely, in the folders of the subjects that own the tables. */

import { AppError, getErrorMessage } from '../errors.js'
import { monotonicSeconds, sleep } from '../runtime/runtime.js'
import type { EngineConnection, OpenDatabase, StorageSettings } from './open-database.js'
import { openSqlite } from './sqlite.js'

const engines = { sqlite: openSqlite } as const

/**
 * Rejects with a {@link DataFileError} if the database cannot be opened, or if opening would create a new one
 * against the settings.
 */
export async function openDatabase(settings: StorageSettings): Promise<OpenDatabase> {
  const opened = await engines[settings.engine](settings)
  const retryWhileLocked = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const giveUpAt = monotonicSeconds() + settings.lockWaitMs / 1000
    for (;;) {
      try {
        return await work()
      } catch (cause) {
        await pauseBeforeRetry(cause, giveUpAt, opened)
      }
    }
  }
  return { ...opened, retryWhileLocked }
}

const lockPauseMs = 5

async function pauseBeforeRetry(
  cause: unknown,
  giveUpAtSeconds: number,
  { path, traits }: Pick<EngineConnection, 'path' | 'traits'>,
): Promise<void> {
  if (traits.isFull(cause)) throw diskFullError(path, cause)
  if (!traits.isLockedElsewhere(cause)) throw cause
  if (monotonicSeconds() >= giveUpAtSeconds) throw databaseBusyError(cause)
  await sleep(lockPauseMs)
}

function diskFullError(path: string, cause: unknown): AppError {
  const why = getErrorMessage(cause)
  const problem = `Nothing was stored, since the disk is full (${path}: ${why})`
  return new AppError('not-available', `${problem}; free space there and send it again`, { cause })
}

/** Nothing was changed, so the same write may be sent again. */
function databaseBusyError(cause: unknown): AppError {
  const message = 'The database is locked by another process; nothing was changed'
  return new AppError('not-available', message, { cause, retryAfterSeconds: 1 })
}
