/** Checks backups, and brings one back into an empty data folder. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { extract } from 'tar'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import { ensureFolder, syncFolder } from '../../runtime/folders.js'
import { markInitialized } from '../../storage/database-files.js'
import { CommandFailure } from '../command.js'
import {
  type BackupManifest,
  describeFailureIn,
  isArchive,
  manifestFiles,
  verifyFolder,
} from './manifest.js'
import { syncTree } from './write-backup.js'

/** Checks a backup as {@link verifyFolder} does. An archive is unpacked beside itself for that. */
export async function verifyBackup(path: string): Promise<BackupManifest> {
  requireBackup(path)
  if (!isArchive(path)) return await verifyFolder(path)
  const folder = mkdtempSync(`${path}.unpacked-`)
  try {
    await unpack(path, folder)
    return await verifyFolder(folder)
  } catch (cause) {
    throw new CommandFailure(describeFailureIn(folder, path, cause))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function requireBackup(path: string): void {
  if (!existsSync(path))
    throw new CommandFailure(`backup '${path}': there is no such file or folder`, 2)
}

/** Of the archive; what it holds is in memory at once, which may be a thousand times as much. */
const maxReadSize = 4_096

async function unpack(path: string, folder: string): Promise<void> {
  try {
    await extract({ file: path, cwd: folder, strict: true, preserveOwner: false, maxReadSize })
  } catch (cause) {
    throw new DataFileError(path, `cannot be unpacked: ${getErrorMessage(cause)}`, cause)
  }
}

const partialName = '.restoring'

/**
 * Restores a backup into an empty or missing folder. From the first step to the last the folder says that it
 * has held a database, and has none, so no server starts on it. If anything fails, it is empty again.
 */
export async function restoreBackup(path: string, dataDir: string): Promise<BackupManifest> {
  requireBackup(path)
  ensureFolder(dataDir)
  const partial = claimFolder(dataDir)
  try {
    markInitialized(dataDir)
    if (isArchive(path)) await unpack(path, partial)
    else {
      await verifyFolder(path)
      cpSync(path, partial, { recursive: true })
    }
    const manifest = await verifyFolder(partial)
    moveInto(dataDir, partial)
    return manifest
  } catch (cause) {
    for (const name of readdirSync(dataDir)) {
      if (name !== volumeFolder) rmSync(join(dataDir, name), { recursive: true, force: true })
    }
    const why = describeFailureIn(partial, path, cause)
    throw new CommandFailure(`dataDir '${dataDir}': nothing was restored, and it is empty: ${why}`)
  }
}

/** A volume that was just made has this one. */
const volumeFolder = 'lost+found'

/** Creates the folder in which a restore works, which only one can. */
function claimFolder(dataDir: string): string {
  const partial = join(dataDir, partialName)
  const [first] = readdirSync(dataDir).filter((name) => name !== volumeFolder)
  const refuse = (found: string) => {
    const rule = 'a restore needs an empty folder, so that no data is lost'
    const advice =
      found === partialName
        ? 'another restore is running, or did not end; in that case empty the folder'
        : 'name another one with CALLGATE_DATA_DIR, or move its files away'
    throw new CommandFailure(`dataDir '${dataDir}': ${rule}, but it holds ${found}; ${advice}`, 2)
  }
  if (first !== undefined) refuse(first)
  try {
    mkdirSync(partial)
  } catch (cause) {
    if (getErrorCode(cause) !== 'EEXIST') throw cause
    refuse(partialName)
  }
  return partial
}

/** The database comes last: with it, the folder is restored. */
function moveInto(dataDir: string, partial: string): void {
  syncTree(partial)
  const last = 'callgate.sqlite'
  const names = readdirSync(partial).filter((name) => !manifestFiles.has(name) && name !== last)
  for (const name of names) renameSync(join(partial, name), join(dataDir, name))
  syncFolder(dataDir)
  renameSync(join(partial, last), join(dataDir, last))
  for (const name of manifestFiles) rmSync(join(partial, name))
  rmdirSync(partial)
  syncFolder(dataDir)
}
