/** A migrated SQLite database in a temporary folder for each test, which can be closed and reopened. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { type OpenDatabase, openDatabase } from '../../src/storage/engine.js'
import { migrate } from '../../src/storage/migrate.js'
import type { Db } from '../../src/storage/tables.js'

export interface TestDatabase {
  /** Changes with every {@link TestDatabase.reopen}. */
  readonly storage: OpenDatabase
  readonly db: Db
  readonly folder: string
  /** What a restart of the process does to the data. */
  reopen(): Promise<void>
}

export function useDatabase(): TestDatabase {
  let folder = ''
  let storage: OpenDatabase
  const open = async () => {
    storage = openDatabase({
      engine: 'sqlite',
      dataDir: folder,
      lockWaitMs: 100,
      blockForLockMs: 0,
    })
    await migrate(storage.db)
  }
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'callgate-db-'))
    await open()
  })
  afterEach(async () => {
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    get storage() {
      return storage
    },
    get db() {
      return storage.db
    },
    get folder() {
      return folder
    },
    async reopen() {
      await storage.close()
      await open()
    },
  }
}
