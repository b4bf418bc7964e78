/** The part of a backup that is in PostgreSQL. It is in two SQLite files: as over SQLite, and the decisions of all servers. */
import { join } from 'node:path'
import { readStorageSettings } from '../../app/storage-settings.js'
import type { Settings } from '../../config/settings.js'
import { backUpDecisions, restoreDecisions } from '../../gate/journal/projection/decision-backup.js'
import { isPresent } from '../../runtime/folders.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import { openDatabase } from '../../storage/engine.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import {
  readSnapshot,
  restoreDatabaseFile,
  withDatabaseFile,
  writeDatabaseFile,
} from '../../storage/postgres/database-file.js'

/** Of all servers; a restore over SQLite leaves it out. */
export const decisionsName = 'decisions.sqlite'

export async function withDatabase<Result>(
  settings: Settings,
  work: (database: OpenDatabase) => Promise<Result>,
): Promise<Result> {
  const storage = readStorageSettings(settings)
  const database = await openDatabase({ ...storage, blockForLockMs: storage.lockWaitMs })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Writes what the database has at one instant to a folder. Returns how many decisions that are. */
export async function backUpDatabase(
  settings: Settings,
  folder: string,
  { withDecisions }: { readonly withDecisions: boolean },
): Promise<number | undefined> {
  return await withDatabase(settings, ({ db, path: source }) =>
    readSnapshot(db, async (snapshot) => {
      await writeDatabaseFile(snapshot, { source, target: resolveDatabasePath(folder) })
      if (!withDecisions) return undefined
      return await backUpDecisions(snapshot, join(folder, decisionsName))
    }),
  )
}

/** From the folder of a backup, which was verified. All of it or nothing. */
export async function restoreDatabase(settings: Settings, folder: string): Promise<void> {
  const decisions = join(folder, decisionsName)
  const restoreOthers = async (transaction: OpenDatabase['db'], path: string) => {
    if (!isPresent(decisions)) return
    await withDatabaseFile(decisions, (source) => restoreDecisions(source, transaction, path))
  }
  await withDatabase(settings, (database) =>
    withDatabaseFile(resolveDatabasePath(folder), (source) =>
      restoreDatabaseFile(source, database, (transaction) =>
        restoreOthers(transaction, database.path),
      ),
    ),
  )
}
