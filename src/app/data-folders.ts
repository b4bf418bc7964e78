/** The data folder and the folders of prepared data. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { SettingsError } from '../config/load.js'
import type { Settings } from '../config/settings.js'
import { resolveFactsFolder } from '../data/facts/fact-feeds.js'
import { DataFileError, getErrorMessage } from '../errors.js'
import { ensureFolder } from '../runtime/folders.js'

type FolderSettings = Pick<Settings, 'dataDir' | 'lists' | 'numbering'>

export const getListsFolder = ({ dataDir, lists }: FolderSettings): string =>
  lists.folder ?? join(dataDir, 'lists')
export const getNumberingFolder = ({ dataDir, numbering }: FolderSettings): string =>
  numbering.folder ?? join(dataDir, 'numbering')
export const getFactsFolder = ({ dataDir }: Pick<Settings, 'dataDir'>): string =>
  resolveFactsFolder(dataDir)

/** A file that begins with the instant of the last backup. */
export const resolveLastBackupPath = ({ dataDir }: Pick<Settings, 'dataDir'>): string =>
  join(dataDir, 'last-backup')

/**
 * Creates the data folder if missing. Throws {@link SettingsError} with the path and the reason when it
 * cannot be created or written.
 */
export function prepareDataFolder({ dataDir }: Pick<Settings, 'dataDir'>): void {
  try {
    ensureFolder(dataDir)
    accessSync(dataDir, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const why = getErrorMessage(cause)
    const rule = cause instanceof DataFileError ? why : `${dataDir}: cannot be written: ${why}`
    const advice = 'set CALLGATE_DATA_DIR to a folder that callgate can write to'
    throw new SettingsError([`dataDir '${dataDir}': ${rule}; ${advice}`])
  }
}
