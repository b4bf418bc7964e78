/** A migrated database in a temporary folder for each test, or for a file, which can be closed and reopened. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { openDatabase } from '../../src/storage/engine.js'
import { migrateSchema } from '../../src/storage/migrate.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import type { Db } from '../../src/storage/tables.js'
import { createPostgresDatabase, engineOf, isPostgres } from './test-engine.js'

export interface TestDatabase {
  /** Changes with every {@link TestDatabase.reopen}. */
  readonly storage: OpenDatabase
  readonly db: Db
  readonly folder: string
  /** What a restart of the process does to the data. */
  reopen(): Promise<void>
}

const settings = { lockWaitMs: 100, blockForLockMs: 0 } as const

/** Migrations take longer than most cases, so a new folder gets a copy of a migrated database. */
let migrated: Promise<{ readonly name: string; readonly bytes: Buffer }> | undefined

export async function writeMigratedDatabase(folder: string): Promise<void> {
  if (isPostgres()) return await createPostgresDatabase(folder)
  migrated ??= migrateOnce()
  const { name, bytes } = await migrated
  writeFileSync(join(folder, name), bytes, { mode: 0o600 })
}

async function migrateOnce() {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-migrated-'))
  try {
    const storage = await openDatabase({ ...settings, dataDir: folder })
    await migrateSchema(storage)
    await storage.close()
    return { name: basename(storage.path), bytes: readFileSync(storage.path) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One for the whole file is for tests that share no rows. */
export function useDatabase(each: 'test' | 'file' = 'test'): TestDatabase {
  let folder = ''
  let storage: OpenDatabase
  const open = async () => {
    storage = await openDatabase({ ...settings, ...engineOf(folder), dataDir: folder })
    await migrateSchema(storage)
  }
  const [before, after] = each === 'test' ? [beforeEach, afterEach] : [beforeAll, afterAll]
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'callgate-db-'))
    await writeMigratedDatabase(folder)
    await open()
  })
  after(async () => {
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
