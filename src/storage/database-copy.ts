/** Copies of the database that other programs may have open, and a look into a copy. */
import { existsSync } from 'node:fs'

import Sqlite from 'better-sqlite3'
import { DataFileError, getErrorMessage } from '../errors.js'
import { syncFile } from '../runtime/folders.js'
import { resolveDatabasePath } from './database-files.js'
import { knownMigrations } from './migrate.js'

/**
 * Writes the database as it is at one instant to `target`, which must not exist, while a server goes on
 * writing. It is on disk when this returns. Throws {@link DataFileError} if there is no database.
 */
export function copyDatabase(dataDir: string, target: string): void {
  const path = resolveDatabasePath(dataDir)
  if (!existsSync(path)) throw new DataFileError(path, 'there is no database to back up')
  // Not with SQLite's backup functions: from another process they begin anew after each write.
  const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
  try {
    connection.prepare('vacuum into ?').run(target)
  } catch (cause) {
    throw new DataFileError(path, `the copy failed: ${getErrorMessage(cause)}`, cause)
  } finally {
    connection.close()
  }
  syncFile(target)
}

export interface DatabaseContent {
  /** Names of the migrations that made its schema, in order. */
  readonly schema: readonly string[]
  /** Rows of the tables that cannot be had again from anywhere else. */
  readonly rows: Readonly<Record<(typeof countedTables)[number], number>>
}

const countedTables = ['accounts', 'api_keys', 'projects', 'internal_dnc', 'ebr_records'] as const

/**
 * Checks every page of a copy. Throws {@link DataFileError} if it is damaged, no database of this program,
 * or of a newer version.
 */
export function inspectDatabase(path: string): DatabaseContent {
  try {
    const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
    try {
      const damage = connection.pragma('integrity_check(1)', { simple: true })
      if (damage !== 'ok') throw new Error(String(damage))
      const schema = connection
        .prepare<[], string>('select name from kysely_migration order by name')
        .pluck()
        .all()
      const newer = schema.filter((name) => !knownMigrations.includes(name))
      if (newer.length > 0) {
        const names = newer.join(', ')
        throw new Error(
          `it has a newer schema than this program knows (${names}); install the version that wrote it`,
        )
      }
      const counts = countedTables.map((table) => {
        const count = connection.prepare<[], number>(`select count(*) from ${table}`).pluck().get()
        return [table, count ?? 0]
      })
      return { schema, rows: Object.fromEntries(counts) }
    } finally {
      connection.close()
    }
  } catch (cause) {
    throw new DataFileError(path, `the database cannot be used: ${getErrorMessage(cause)}`, cause)
  }
}
