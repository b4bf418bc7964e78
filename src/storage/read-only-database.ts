/** Reads the database for a diagnosis, without creating or changing a record. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely } from 'kysely'
import { isPresent } from '../runtime/folders.js'
import type { EngineTraits } from './open-database.js'
import { ReadDriver, SqliteFileDialect, sqliteTraits } from './sqlite.js'
import type { Db, Tables } from './tables.js'

export interface ReadOnlyDatabase {
  readonly db: Db
  readonly traits: EngineTraits
  close(): void
}

/**
 * Opens an existing database. In WAL mode even a reader creates `-wal` and `-shm` files if they are
 * missing, so the database of a stopped server is read from a private copy in `temporaryFolder`, which is
 * deleted by `close`. Throws if it cannot be read.
 */
export function openReadOnlyDatabase(path: string, temporaryFolder: string): ReadOnlyDatabase {
  const isOpenElsewhere = isPresent(`${path}-wal`) && isPresent(`${path}-shm`)
  const folder = isOpenElsewhere ? undefined : copyDatabase(path, temporaryFolder)
  const removeCopy = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
  try {
    const source = join(folder ?? dirname(path), basename(path))
    const reader = new Sqlite(source, { readonly: true, fileMustExist: true, timeout: 1_000 })
    // All that is read is of one instant.
    reader.exec('begin')
    const driver = new ReadDriver(reader, { observeFailure: () => undefined })
    const close = () => {
      reader.close()
      removeCopy()
    }
    const db = new Kysely<Tables>({ dialect: new SqliteFileDialect(driver) })
    return { db, traits: sqliteTraits, close }
  } catch (cause) {
    removeCopy()
    throw cause
  }
}

/** Returns the folder of the copy, which only this user can read. */
function copyDatabase(path: string, temporaryFolder: string): string {
  const folder = mkdtempSync(join(temporaryFolder, 'callgate-doctor-'))
  try {
    for (const file of [path, `${path}-wal`].filter((each) => isPresent(each))) {
      copyFileSync(file, join(folder, basename(file)))
    }
    return folder
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true })
    throw cause
  }
}
