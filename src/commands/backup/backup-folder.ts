/** What is in a backup: how it is written, described in its manifest, and checked. */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  createReadStream,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { getFactsFolder, getListsFolder, getNumberingFolder } from '../../app/data-folders.js'
import { formatSettings, resolveShippedFile } from '../../config/load.js'
import type { Settings } from '../../config/settings.js'
import { version } from '../../config/version.js'
import { formatInstant } from '../../domain/time/dates.js'
import { DataFileError, getErrorCode, getErrorMessage } from '../../errors.js'
import {
  copyJournal,
  type JournalExtent,
  readJournalExtent,
} from '../../gate/journal/copy-journal.js'
import { ensureFolder, syncFile, syncFolder } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import { copyDatabase, type DatabaseContent, inspectDatabase } from '../../storage/database-copy.js'
import { resolveDatabasePath } from '../../storage/database-files.js'

const format = 1
const manifestName = 'manifest.json'

interface BackedUpFile {
  /** In the backup, with `/`. */
  readonly path: string
  readonly bytes: number
  /** In hex. */
  readonly sha256: string
}

export interface BackupManifest {
  readonly format: typeof format
  /** Of the program that wrote it. */
  readonly version: string
  /** What was acknowledged before this instant is in the backup. */
  readonly at: string
  readonly database: DatabaseContent
  readonly journal: JournalExtent
  /** Whether the key of permits is in it. */
  readonly hasSecrets: boolean
  readonly files: readonly BackedUpFile[]
}

/** Folders of the backup, which are those of the data folder. */
const preparedFolders = ['lists', 'numbering', 'facts'] as const

/**
 * Writes a backup of a data folder to an empty folder, beside a running server. Files that are never
 * written to again are linked where the file system can. Returns its manifest.
 */
export async function writeBackup(
  settings: Settings,
  target: string,
  { withSecrets }: { readonly withSecrets: boolean },
): Promise<BackupManifest> {
  const { dataDir } = settings
  const at = formatInstant(systemClock.now())
  const from = {
    lists: getListsFolder(settings),
    numbering: getNumberingFolder(settings),
    facts: getFactsFolder(settings),
  }
  for (const name of preparedFolders) copyPreparedFiles(from[name], join(target, name))
  // Before the journal, so that every opt-out that a decision was based on is older than the copy.
  copyDatabase(dataDir, resolveDatabasePath(target))
  mkdirSync(join(target, 'journal'))
  const journal = join(dataDir, 'journal')
  if (existsSync(join(journal, 'origin'))) {
    copyJournal({ folder: journal, target: join(target, 'journal'), copyFile: linkOrCopy })
  }
  copySettings(settings, target)
  const permitKey = join(dataDir, 'permit-key')
  if (withSecrets && existsSync(permitKey)) copyFileSync(permitKey, join(target, 'permit-key'))
  const manifest: BackupManifest = {
    format,
    version,
    at,
    ...inspectContent(target),
    hasSecrets: withSecrets,
    files: await describeFiles(target),
  }
  writeFileSync(join(target, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`)
  syncTree(target)
  return manifest
}

/** The settings in force and the files that they name; a restore does not apply them. */
function copySettings(settings: Settings, target: string): void {
  const folder = join(target, 'settings')
  mkdirSync(folder)
  writeFileSync(join(folder, 'settings.json'), formatSettings(settings))
  const { rulesFile } = settings.callingHours
  copyFileSync(resolveShippedFile(rulesFile), join(folder, 'calling-rules.yaml'))
  copyFileSync(resolveShippedFile(settings.sandbox.file), join(folder, 'sandbox.yaml'))
}

const maxListings = 10

/** They are renamed into place, so a link is a copy. An import may replace one at any moment. */
function copyPreparedFiles(folder: string, target: string): void {
  for (let listing = 1; ; listing += 1) {
    try {
      ensureFolder(target)
      if (existsSync(folder)) copyTree(folder, target)
      return
    } catch (cause) {
      if (getErrorCode(cause) !== 'ENOENT' || listing === maxListings) throw cause
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
    } else if (!existsSync(to)) linkOrCopy(from, to)
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') throw cause
    copyFileSync(from, to)
  }
}

async function describeFiles(folder: string): Promise<readonly BackedUpFile[]> {
  const files: BackedUpFile[] = []
  for (const path of listFiles(folder)) {
    if (path === manifestName) continue
    const full = join(folder, path)
    files.push({ path, bytes: statSync(full).size, sha256: await hashFile(full) })
  }
  return files
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

export function syncTree(folder: string): void {
  for (const path of listFiles(folder)) syncFile(join(folder, path))
  const folders = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
  for (const path of [...folders, folder]) syncFolder(path)
}

function inspectContent(folder: string): Pick<BackupManifest, 'database' | 'journal'> {
  return {
    database: inspectDatabase(resolveDatabasePath(folder)),
    journal: readJournalExtent(join(folder, 'journal')),
  }
}

/**
 * Checks the hash of every file, every page of the database and every record of the journal. Throws
 * {@link DataFileError} with the file and the rule it breaks.
 */
export async function verifyBackup(folder: string): Promise<BackupManifest> {
  const manifest = readManifest(folder)
  const expected = new Map(manifest.files.map((file) => [file.path, file]))
  for (const path of listFiles(folder)) {
    if (path === manifestName || expected.has(path)) continue
    throw new DataFileError(join(folder, path), 'is not in the manifest of the backup')
  }
  for (const file of manifest.files) await verifyFile(folder, file)
  const { database, journal } = inspectContent(folder)
  if (journal.lastSeq !== manifest.journal.lastSeq) {
    const rule = `ends with record ${journal.lastSeq}, but the manifest says ${manifest.journal.lastSeq}`
    throw new DataFileError(join(folder, 'journal'), rule)
  }
  return { ...manifest, database }
}

async function verifyFile(folder: string, { path, bytes, sha256 }: BackedUpFile): Promise<void> {
  const full = join(folder, path)
  const found = lstatSync(full, { throwIfNoEntry: false })
  if (found === undefined) throw new DataFileError(full, 'is in the manifest, but missing')
  // A link could lead out of the backup.
  if (!found.isFile()) throw new DataFileError(full, 'must be a regular file')
  if (found.size !== bytes) {
    throw new DataFileError(full, `has ${found.size} bytes, but the manifest says ${bytes}`)
  }
  if ((await hashFile(full)) !== sha256) {
    throw new DataFileError(full, 'is damaged: its SHA-256 is not that of the manifest')
  }
}

function readManifest(folder: string): BackupManifest {
  const path = join(folder, manifestName)
  let manifest: BackupManifest
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8')) as BackupManifest
    if (!Array.isArray(manifest.files)) throw new Error('it lists no files')
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `${basename(folder)} is no backup of callgate: ${why}`, cause)
  }
  if (manifest.format !== format) {
    const rule = `the backup has format ${manifest.format}, but this program reads format ${format}`
    throw new DataFileError(path, `${rule}; use callgate ${manifest.version} or newer`)
  }
  return manifest
}
