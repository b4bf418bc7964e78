/** Writes a backup of a data folder, also while a server is using it. */
import {
  chmodSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { create } from 'tar'
import {
  getFactsFolder,
  getListsFolder,
  getNumberingFolder,
  resolveLastBackupPath,
} from '../../app/data-folders.js'
import { resolveShippedFile } from '../../config/load.js'
import { listSecretFiles } from '../../config/secret-file.js'
import type { Settings } from '../../config/settings.js'
import { version } from '../../config/version.js'
import { formatInstant } from '../../domain/time/dates.js'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import { hashOriginName, readOriginName } from '../../gate/journal/journal-origin.js'
import { copyJournal, type JournalExtent } from '../../gate/journal/recovery/copy-journal.js'
import { readPosition } from '../../gate/journal/recovery/journal-state.js'
import { findSigningKey, readSigningKey } from '../../gate/journal/tree/tree-head.js'
import {
  ensureFolder,
  isPresent,
  moveIntoPlace,
  syncFile,
  syncFolder,
} from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import {
  copySqliteFile,
  forgetJournals,
  inspectDatabase,
  removeStoredSecrets,
  storeJournalEnd,
} from '../../storage/database-copy.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import type { SigningKey } from '../../transparency/signed-note.js'
import { CommandFailure } from '../command.js'
import {
  type BackupManifest,
  describeFailureIn,
  describeFiles,
  isArchive,
  listFiles,
  requireKnownJournal,
  writeManifest,
} from './manifest.js'
import { backUpDatabase } from './stored-database.js'

interface BackupOptions {
  /** A settings file. */
  readonly settingsText: string
  readonly withSecrets: boolean
  /** Whether those that are in PostgreSQL are copied; the journal always is. */
  readonly withDecisions: boolean
}

/** Of a file that is packed; larger parts would take several times their size in memory. */
const maxReadSize = 65_536

/**
 * Writes a backup to a new or empty folder, or to a new `.tgz` file. It gets its name once it is complete and
 * on disk; if anything fails, nothing is left of it.
 */
export async function createBackup(
  settings: Settings,
  target: string,
  options: BackupOptions,
): Promise<BackupManifest> {
  refuseTarget(settings, target)
  // The name is unique, since another backup may be running.
  const partial = mkdtempSync(`${target}.partial-`)
  const archive = `${partial}.tgz`
  let manifest: BackupManifest
  try {
    manifest = await writeContent(settings, partial, options)
    if (isArchive(target)) {
      await create(
        { gzip: true, cwd: partial, file: archive, strict: true, maxReadSize },
        readdirSync(partial),
      )
      chmodSync(archive, 0o600)
      syncFile(archive)
    }
    refuseTarget(settings, target)
    renameSync(isArchive(target) ? archive : partial, target)
    syncFolder(dirname(target))
  } catch (cause) {
    rmSync(archive, { force: true })
    // What is damaged in the copy is damaged in the data folder, which has the same files.
    const isDamage = cause instanceof DataFileError
    const why = describeFailureIn(partial, isDamage ? settings.dataDir : target, cause)
    throw new CommandFailure(`'${target}': the backup failed, and nothing is left of it: ${why}`)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  noteBackup(settings, `${manifest.at} ${target}\n`)
  return manifest
}

/** What backups and checks of archives that were killed, or are running, have in a folder. */
export function findUnfinished(folder: string): readonly string[] {
  if (!isPresent(folder)) return []
  return readdirSync(folder)
    .filter((name) => /\.(?:partial|unpacked)-\w{6}(?:\.tgz)?$/.test(name))
    .map((name) => join(folder, name))
}

function refuseTarget(settings: Settings, target: string): void {
  const refuse = (rule: string) => {
    throw new CommandFailure(`target '${target}': ${rule}`, 2)
  }
  const parent = dirname(target)
  if (!isPresent(parent))
    refuse(`the folder ${parent} does not exist; create it, or mount its volume`)
  const found = statSync(target, { throwIfNoEntry: false })
  if (found && (!found.isDirectory() || isArchive(target) || readdirSync(target).length > 0)) {
    refuse('it exists already, and is not an empty folder; name a new folder or .tgz file')
  }
  const path = join(realpathSync(parent), basename(target))
  for (const folder of [settings.dataDir, ...Object.values(findPreparedFolders(settings))]) {
    if (!isPresent(folder) || !`${path}${sep}`.startsWith(`${realpathSync(folder)}${sep}`)) continue
    refuse(`it is inside ${folder}, which is backed up and may be lost; name a folder elsewhere`)
  }
}

/** For the metric; the server reads it. */
function noteBackup(settings: Settings, text: string): void {
  const path = resolveLastBackupPath(settings)
  try {
    writeFileSync(`${path}.part`, text, { flush: true })
    moveIntoPlace(`${path}.part`, path)
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new CommandFailure(`the backup is complete, but its time could not be saved: ${why}`)
  }
}

/** Name in a backup, and in a data folder without settings for them -> the folder in use. */
const findPreparedFolders = (settings: Settings) => ({
  lists: getListsFolder(settings),
  numbering: getNumberingFolder(settings),
  facts: getFactsFolder(settings),
})

/**
 * A decision was based on what the database and the lists held before it was recorded. So the journal is
 * copied first: the copies that follow then hold everything its decisions were based on.
 */
async function writeContent(
  settings: Settings,
  target: string,
  { withSecrets, withDecisions, settingsText }: BackupOptions,
): Promise<BackupManifest> {
  const { dataDir } = settings
  const at = formatInstant(systemClock.now())
  const isShared = settings.storage.engine === 'postgres'
  if (!isShared) requireDatabase(dataDir)
  const journal = copyRecords(dataDir, target)
  if (!isShared) copySqliteFile(resolveDatabasePath(dataDir), resolveDatabasePath(target))
  const storedDecisions = isShared
    ? await backUpDatabase(settings, target, { withDecisions })
    : undefined
  const end = readPosition(join(target, 'journal'), journal.lastSeq)
  // The copy of the database was made later, and may know records that the copy of the journal does not have.
  if (end) {
    const origin = hashOriginName(readOriginName(join(target, 'journal'))).toString('hex')
    storeJournalEnd(resolveDatabasePath(target), origin, end)
  } else if (isShared) forgetJournals(resolveDatabasePath(target))
  if (!withSecrets) removeStoredSecrets(resolveDatabasePath(target))
  for (const [name, folder] of Object.entries(findPreparedFolders(settings))) {
    copyPreparedFiles(folder, join(target, name))
  }
  const settingsFolder = join(target, 'settings')
  mkdirSync(settingsFolder)
  writeFileSync(join(settingsFolder, 'callgate.yaml'), settingsText)
  copySettingsFiles(settings, settingsFolder, withSecrets)
  const permitKey = join(dataDir, 'permit-key')
  if (withSecrets && isPresent(permitKey)) copyFile(permitKey, join(target, 'permit-key'))
  const database = inspectDatabase(resolveDatabasePath(target))
  requireKnownJournal(join(target, 'journal'), database, journal)
  const key = readJournalKey(settings, journal)
  const manifest: BackupManifest = {
    ...{ format: 1, version, at, database, journal },
    isSigned: key !== undefined,
    ...(storedDecisions !== undefined && { storedDecisions }),
    hasSecrets: withSecrets,
    files: await describeFiles(target),
  }
  writeManifest(target, manifest, key)
  syncTree(target)
  return manifest
}

/** `undefined` if there is none yet, as before the first start. Throws {@link DataFileError} if there are records. */
function readJournalKey(
  { dataDir, journal }: Settings,
  { lastSeq }: JournalExtent,
): SigningKey | undefined {
  const path = findSigningKey(dataDir, journal.signingKeyFile)
  if (lastSeq === 0 && !isPresent(path)) return undefined
  return readSigningKey(readOriginName(join(dataDir, 'journal')), path)
}

function requireDatabase(dataDir: string): void {
  const path = resolveDatabasePath(dataDir)
  if (!isPresent(path)) throw new DataFileError(path, 'there is no database to back up')
}

function copyRecords(dataDir: string, target: string) {
  const [folder, copy] = [join(dataDir, 'journal'), join(target, 'journal')]
  mkdirSync(copy)
  return copyJournal(folder, copy)
}

/** The files that settings name; a restore applies none of them. */
function copySettingsFiles(settings: Settings, target: string, withSecrets: boolean): void {
  const { callingHours, sandbox } = settings
  copyFile(resolveShippedFile(callingHours.rulesFile), join(target, 'calling-rules.yaml'))
  copyFile(resolveShippedFile(sandbox.file), join(target, 'sandbox.yaml'))
  if (!withSecrets) return
  for (const { setting, path } of listSecretFiles(settings)) copyFile(path, join(target, setting))
}

const maxAttempts = 10

/** Each file is complete at every moment, but an import may replace or remove one after it was listed. */
function copyPreparedFiles(folder: string, target: string): void {
  for (let attempt = 1; ; attempt += 1) {
    ensureFolder(target)
    try {
      if (isPresent(folder)) copyTree(folder, target)
      return
    } catch (cause) {
      if (getErrorCode(cause) !== 'ENOENT' || attempt === maxAttempts) throw cause
      rmSync(target, { recursive: true })
    }
  }
}

/** Leaves out hidden files: locks, and files that are being written. */
function copyTree(folder: string, target: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith('.')) continue
    const [from, to] = [join(folder, name), join(target, name)]
    if (statSync(from).isDirectory()) {
      ensureFolder(to)
      copyTree(from, to)
    } else copyFile(from, to)
  }
}

function copyFile(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE)
  chmodSync(to, 0o600)
}

/** Makes every file below a folder, and their names, durable. */
export function syncTree(folder: string): void {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  for (const path of listFiles(folder)) syncFile(join(folder, path))
  for (const entry of entries) {
    if (entry.isDirectory()) syncFolder(join(entry.parentPath, entry.name))
  }
  syncFolder(folder)
}
