/** Checks backups, and brings one back into an empty data folder. */
import {
  constants,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { extract } from 'tar'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { originPath } from '../../gate/journal/journal-origin.js'
import { listSegments } from '../../gate/journal/journal-reader.js'
import { treeFolder } from '../../gate/journal/tree/tree-files.js'
import { ensureFolder, isPresent, syncFile, syncFolder } from '../../runtime/folders.js'
import {
  markInitialized,
  resolveDatabasePath,
  resolveRestoringPath,
} from '../../storage/database-files.js'
import { lockServing } from '../../storage/sqlite.js'
import type { VerifierKey } from '../../transparency/signed-note.js'
import { CommandFailure } from '../command.js'
import { renameJournal } from '../evidence/new-origin.js'
import {
  type BackupManifest,
  describeFailureIn,
  isArchive,
  manifestFiles,
  verifyFolder,
} from './manifest.js'
import { decisionsName } from './stored-database.js'
import { syncTree } from './write-backup.js'

type UseFolder = (folder: string, manifest: BackupManifest) => Promise<void>

/**
 * Checks a backup as {@link verifyFolder} does, and then uses its folder. An archive is unpacked beside itself for that.
 */
export async function verifyBackup(
  path: string,
  key?: VerifierKey,
  use: UseFolder = async () => undefined,
): Promise<BackupManifest> {
  requireBackup(path)
  const verify = async (folder: string) => {
    const manifest = await verifyFolder(folder, key)
    await use(folder, manifest)
    return manifest
  }
  if (!isArchive(path)) return await verify(path)
  const folder = mkdtempSync(`${path}.unpacked-`)
  try {
    await unpack(path, folder)
    return await verify(folder)
  } catch (cause) {
    throw new CommandFailure(describeFailureIn(folder, path, cause))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function requireBackup(path: string): void {
  if (!isPresent(path))
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

/** What {@link restoreBackup} restores. */
export interface RestoreTarget {
  readonly dataDir: string
  /** Of the journal in the backup, if it is known from elsewhere. */
  readonly key: VerifierKey | undefined
  /** Whether the database is in the folder. */
  readonly hasDatabase: boolean
  /** Of the key that signs the journal, if it is not in the folder. */
  readonly signingKeyFile?: string | undefined
  /** Called with the checked backup before anything is moved into the folder, to restore what is elsewhere. */
  readonly restoreOthers?: UseFolder
}

/**
 * Restores a backup into an empty or missing folder, or into one in which an earlier restore did not end. Until
 * the last step the folder says that it is being restored, so no server starts on it. If anything fails, it is empty again.
 */
export async function restoreBackup(path: string, target: RestoreTarget): Promise<BackupManifest> {
  const { dataDir, hasDatabase, key } = target
  requireBackup(path)
  requireNoKey(target)
  if (!/^\.\.(?:\/|$)/.test(relative(dataDir, path))) {
    const advice =
      'it would be overwritten; move it out, or name another folder with CALLGATE_DATA_DIR'
    throw new CommandFailure(`backup '${path}' is in dataDir '${dataDir}': ${advice}`, 2)
  }
  ensureFolder(dataDir)
  requireRestorable(dataDir)
  const lock = lockFolder(dataDir)
  const partial = resolveRestoringPath(dataDir)
  let restored = 'nothing was restored'
  try {
    // Another restore may have ended since.
    requireRestorable(dataDir)
    empty(dataDir, isLock)
    mkdirSync(partial)
    if (hasDatabase) markInitialized(dataDir)
    if (isArchive(path)) await unpack(path, partial)
    else {
      await verifyFolder(path, key)
      cpSync(path, partial, { recursive: true })
    }
    const manifest = await verifyFolder(partial, key)
    await target.restoreOthers?.(partial, manifest)
    if (target.restoreOthers) {
      restored = 'only the database was restored (restore the folder with --only folder)'
    }
    renewOrigin(partial, manifest)
    moveInto(partial, target)
    return manifest
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause
    empty(dataDir)
    const why = describeFailureIn(partial, path, cause)
    throw new CommandFailure(`dataDir '${dataDir}': ${restored}, and it is empty: ${why}`)
  } finally {
    lock.close()
  }
}

/** A volume that was just made has this one. */
const volumeFolder = 'lost+found'
/** The lock, and what SQLite has beside it while it is held. */
const isLock = (name: string): boolean => name.startsWith('serving.lock')

/** Without a database, whatever is beside the folder of a restore is from that restore. */
function requireRestorable(dataDir: string): void {
  const [found] = readdirSync(dataDir).filter((name) => name !== volumeFolder && !isLock(name))
  const hasDatabase = isPresent(resolveDatabasePath(dataDir))
  if (found === undefined || (isPresent(resolveRestoringPath(dataDir)) && !hasDatabase)) return
  const rule = `a restore needs an empty folder, so that no data is lost, but it holds ${found}`
  const advice = 'name another one with CALLGATE_DATA_DIR, or move its files away'
  throw new CommandFailure(`dataDir '${dataDir}': ${rule}; ${advice}`, 2)
}

function lockFolder(dataDir: string): { close(): void } {
  try {
    return lockServing(dataDir)
  } catch (cause) {
    if (!(cause instanceof DataFileError)) throw cause
    throw new CommandFailure(`dataDir '${dataDir}': another restore into it is running`, 2)
  }
}

function empty(dataDir: string, isKept: (name: string) => boolean = () => false): void {
  for (const name of readdirSync(dataDir)) {
    if (name === volumeFolder || isKept(name)) continue
    rmSync(join(dataDir, name), { recursive: true, force: true })
  }
}

/** It may be in use by the server whose backup this is. */
function requireNoKey({ signingKeyFile }: RestoreTarget): void {
  if (signingKeyFile === undefined || !isPresent(signingKeyFile)) return
  const rule = `'${signingKeyFile}' exists, and the restored journal gets a key of its own`
  const advice =
    'move it away if its server is gone, or name another file with CALLGATE_JOURNAL_SIGNING_KEY_FILE'
  throw new CommandFailure(`journal.signingKeyFile ${rule}; ${advice}`, 2)
}

/** What the journal recorded after the backup may be known elsewhere; what is recorded now must not be taken for that. */
function renewOrigin(partial: string, { at }: BackupManifest): void {
  const folder = join(partial, 'journal')
  if (!isPresent(originPath(folder))) return
  // It never had a record or a key, and gets a name at the start.
  if (!isPresent(treeFolder(folder)) && listSegments(folder).length === 0) {
    rmSync(originPath(folder))
    return
  }
  renameJournal(folder, join(partial, signingKeyName), `the backup of ${at} was restored`)
}

const signingKeyName = 'journal.key'

/** The database comes last: with it, or without the folder of the restore, the data folder is restored. */
function moveInto(partial: string, { dataDir, hasDatabase, signingKeyFile }: RestoreTarget): void {
  const key = join(partial, signingKeyName)
  if (signingKeyFile !== undefined && isPresent(key)) {
    copyFileSync(key, signingKeyFile, constants.COPYFILE_EXCL)
    syncFile(signingKeyFile)
    rmSync(key)
  }
  syncTree(partial)
  const last = 'callgate.sqlite'
  const others = new Set([...manifestFiles, last, decisionsName])
  const names = readdirSync(partial).filter((name) => !others.has(name))
  for (const name of names) renameSync(join(partial, name), join(dataDir, name))
  syncFolder(dataDir)
  if (hasDatabase) renameSync(join(partial, last), join(dataDir, last))
  rmSync(partial, { recursive: true, force: true })
  syncFolder(dataDir)
}
