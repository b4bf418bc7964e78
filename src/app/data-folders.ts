/** The data folder and the folders of prepared data. */
import { accessSync, constants } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
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

/** Bundles of evidence that people have asked for, until they are deleted. */
export const resolveBundlesFolder = ({ dataDir }: Pick<Settings, 'dataDir'>): string =>
  join(dataDir, 'evidence')

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
    throw new SettingsError([
      `${describeUnwritable({ dataDir }, dataDir, cause)}; ${unwritableFix}`,
    ])
  }
}

/** What is wrong with a data folder if it, or a file in it, cannot be written. */
export function describeUnwritable(
  { dataDir }: Pick<Settings, 'dataDir'>,
  path: string,
  cause: unknown,
): string {
  const why = getErrorMessage(cause)
  return `dataDir '${dataDir}': ${cause instanceof DataFileError ? why : `${path}: cannot be written: ${why}`}`
}

export const unwritableFix =
  'make it writable for the user of callgate, or set CALLGATE_DATA_DIR to a folder that callgate can write to'

/** A file system that callgate writes to. */
export interface WrittenDisk {
  /** What is on it: `data` is the data folder with all that has no disk of its own. */
  readonly holds: string
  /** A folder on it. */
  readonly path: string
  readonly freeBytes: number
}

/** The journal, for one, may be a link to another disk. What is missing is left out. Rejects if a disk cannot be read. */
export async function readDisks(settings: FolderSettings): Promise<readonly WrittenDisk[]> {
  const { dataDir } = settings
  const folders = {
    data: dataDir,
    journal: join(dataDir, 'journal'),
    lists: getListsFolder(settings),
    numbering: getNumberingFolder(settings),
    facts: getFactsFolder(settings),
    evidence: resolveBundlesFolder(settings),
  }
  const disks = new Map<number, { readonly path: string; readonly holds: string[] }>()
  for (const [name, path] of Object.entries(folders)) {
    const found = await stat(path).catch(() => undefined)
    if (!found) continue
    const disk = disks.get(found.dev)
    if (!disk) disks.set(found.dev, { path, holds: [name] })
    else if (disk.path !== dataDir) disk.holds.push(name)
  }
  return await Promise.all(
    [...disks.values()].map(async ({ path, holds }) => {
      const { bavail, bsize } = await statfs(path)
      return { holds: holds.join(', '), path, freeBytes: bavail * bsize }
    }),
  )
}
