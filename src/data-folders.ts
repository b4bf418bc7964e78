/** The data folder, and where below it the prepared data lies. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from './config.js'
import { factsFolderOf } from './data/facts/fact-feeds.js'
import { DataFileError } from './errors.js'
import { makeFolder } from './folders.js'
import { SettingsError } from './load-settings.js'

type Folders = Pick<Settings, 'dataDir' | 'lists' | 'numbering'>

export const listsFolder = ({ dataDir, lists }: Folders): string =>
  lists.folder ?? join(dataDir, 'lists')
export const numberingFolder = ({ dataDir, numbering }: Folders): string =>
  numbering.folder ?? join(dataDir, 'numbering')
export const factsFolder = ({ dataDir }: Pick<Settings, 'dataDir'>): string =>
  factsFolderOf(dataDir)

/**
 * Makes the data folder. Throws {@link SettingsError} with the path and the reason when it cannot be
 * made or written.
 */
export function prepareDataFolder({ dataDir }: Pick<Settings, 'dataDir'>): void {
  try {
    makeFolder(dataDir)
    accessSync(dataDir, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const rule = cause instanceof DataFileError ? why : `${dataDir}: cannot be written: ${why}`
    const advice = 'set CALLGATE_DATA_DIR to a folder on a disk that callgate may write'
    throw new SettingsError([`dataDir '${dataDir}': ${rule}; ${advice}`])
  }
}
