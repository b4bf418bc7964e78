/** The SQL engines by name. Queries are written once, in Kysely, by the subjects that own them. */

import { openSqlite } from './sqlite.js'
import type { Db } from './tables.js'

/** What may differ between engines; nothing else may branch on the engine. */
export interface EngineTraits {
  readonly name: string
  /** How many bound values one statement may carry. */
  readonly maxParameters: number
}

export interface OpenDatabase {
  readonly db: Db
  readonly traits: EngineTraits
  /** Whether another process has written since the last time this was asked. */
  changedElsewhere(): boolean
  /** Closes the connections; pending transactions end first. */
  close(): Promise<void>
}

export interface StorageSettings {
  readonly engine: EngineName
  /** Folder of the SQLite file. */
  readonly dataDir: string
  /** How long a statement waits for a lock that another process holds. */
  readonly lockWaitMs: number
}

const engines = { sqlite: openSqlite } as const
export type EngineName = keyof typeof engines
export const engineNames = Object.keys(engines) as readonly EngineName[]

/** Throws {@link DataFileError} when the database cannot be opened. */
export function openDatabase(settings: StorageSettings): OpenDatabase {
  return engines[settings.engine](settings)
}
