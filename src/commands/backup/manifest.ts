/** The manifest of a backup: what is in it, and whether it still is. */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { type JournalExtent, readJournalExtent } from '../../gate/journal/recovery/copy-journal.js'
import { treeFolder, verifierKeyPath } from '../../gate/journal/tree/tree-files.js'
import { isPresent } from '../../runtime/folders.js'
import { type DatabaseContent, inspectDatabase } from '../../storage/database-copy.js'
import { resolveDatabasePath } from '../../storage/database-files.js'
import {
  formatNote,
  formatVerifierKey,
  NoteError,
  parseNote,
  parseVerifierKey,
  type SigningKey,
  signNote,
  type VerifierKey,
  verifySignatures,
} from '../../transparency/signed-note.js'

interface BackedUpFile {
  /** In the backup, with `/`. */
  readonly path: string
  readonly bytes: number
  /** In hex. */
  readonly sha256: string
}

const format = 1

export interface BackupManifest {
  readonly format: typeof format
  /** Of the program that wrote it. */
  readonly version: string
  /** What was acknowledged before this instant (ISO 8601) is in the backup. */
  readonly at: string
  readonly database: DatabaseContent
  readonly journal: JournalExtent
  /** By the key of the journal, if there is one. */
  readonly isSigned: boolean
  /** How many decisions of all servers are in it; absent without those of PostgreSQL. */
  readonly storedDecisions?: number
  /** Whether secrets are in it, such as the key that signs permits. */
  readonly hasSecrets: boolean
  readonly files: readonly BackedUpFile[]
}

const manifestName = 'manifest.json'
/** Hash of the manifest, as `sha256sum` writes it. */
const manifestHashName = 'manifest.json.sha256'
/** A note with that hash, signed by the key of the journal. */
const manifestNoteName = 'manifest.json.signed'

/** Files of a backup that describe it, and are not restored. */
export const manifestFiles: ReadonlySet<string> = new Set([
  manifestName,
  manifestHashName,
  manifestNoteName,
])

export const isArchive = (path: string): boolean => path.endsWith('.tgz')

/** Paths of all files below a folder, with `/`, sorted. */
export function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

export async function describeFiles(folder: string): Promise<readonly BackedUpFile[]> {
  const files: BackedUpFile[] = []
  for (const path of listFiles(folder)) {
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

/** Without a journal there is no key. */
export function writeManifest(
  folder: string,
  manifest: BackupManifest,
  key: SigningKey | undefined,
): void {
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`
  writeFileSync(join(folder, manifestName), text)
  writeFileSync(join(folder, manifestHashName), `${hashText(text)}  ${manifestName}\n`)
  if (key === undefined) return
  const note = toNoteText(key, text)
  const signed = formatNote({ text: note, signatures: [signNote(note, key)] })
  writeFileSync(join(folder, manifestNoteName), signed)
}

/** The second line keeps it from being taken for a checkpoint. */
const toNoteText = ({ name }: VerifierKey, manifest: string): string =>
  `${name}\nbackup ${hashText(manifest)}\n`

const hashText = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Checks the hash of every file, every page of the database and every record of the journal, and that the manifest was
 * signed with the key of the journal: the one in the backup, which only shows that the backup agrees with itself, unless
 * one is given. Throws {@link DataFileError} with the file and the rule it breaks.
 */
export async function verifyFolder(folder: string, key?: VerifierKey): Promise<BackupManifest> {
  const manifest = readManifest(folder, key)
  const found = new Set(listFiles(folder))
  for (const file of manifest.files) {
    if (!found.delete(file.path)) {
      throw new DataFileError(
        join(folder, file.path),
        'is in the manifest of the backup, but missing',
      )
    }
    await verifyFile(folder, file)
  }
  for (const path of found) {
    if (manifestFiles.has(path)) continue
    throw new DataFileError(
      join(folder, path),
      'is not in the manifest of the backup; move it away',
    )
  }
  const database = inspectDatabase(resolveDatabasePath(folder))
  const journal = join(folder, 'journal')
  const extent = readJournalExtent(journal)
  requireKnownJournal(journal, database, extent)
  const { firstSeq, lastSeq } = extent
  if (firstSeq !== manifest.journal.firstSeq || lastSeq !== manifest.journal.lastSeq) {
    const said = `${manifest.journal.firstSeq} to ${manifest.journal.lastSeq}`
    const rule = `has records ${firstSeq} to ${lastSeq}, but the manifest says ${said}`
    throw new DataFileError(journal, rule)
  }
  return manifest
}

/** A backup without the journal that its database knows would need no signature. Throws {@link DataFileError}. */
export function requireKnownJournal(
  folder: string,
  { journals }: DatabaseContent,
  { lastSeq }: JournalExtent,
): void {
  if (journals === 0 || lastSeq > 0) return
  const rule = 'has no records, but the database beside it knows some: they were removed'
  throw new DataFileError(folder, rule)
}

async function verifyFile(folder: string, { path, bytes, sha256 }: BackedUpFile): Promise<void> {
  const full = join(folder, path)
  const found = lstatSync(full)
  // A link could lead out of the backup.
  if (!found.isFile()) throw new DataFileError(full, 'must be a regular file')
  if (found.size !== bytes) {
    throw new DataFileError(full, `has ${found.size} bytes, but the manifest says ${bytes}`)
  }
  if ((await hashFile(full)) !== sha256) {
    throw new DataFileError(full, 'is damaged: its SHA-256 is not that of the manifest')
  }
}

function readManifest(folder: string, key: VerifierKey | undefined): BackupManifest {
  const path = join(folder, manifestName)
  let text: string
  let manifest: BackupManifest
  try {
    text = readFileSync(path, 'utf8')
    manifest = JSON.parse(text) as BackupManifest
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `this is not a complete backup of callgate: ${why}`, cause)
  }
  const hashPath = join(folder, manifestHashName)
  const expected = readHash(hashPath)
  if (hashText(text) !== expected) {
    throw new DataFileError(path, `is damaged: its SHA-256 is not that of ${hashPath}`)
  }
  requireSignature(folder, { text, journal: manifest.journal }, key)
  if (manifest.format !== format) {
    const rule = `the backup has format ${manifest.format}, but this program reads format ${format}`
    throw new DataFileError(path, `${rule}. Use callgate ${manifest.version} or newer`)
  }
  return manifest
}

/** Only a backup without records may have none: see {@link requireKnownJournal}. */
function requireSignature(
  folder: string,
  { text, journal }: { readonly text: string; readonly journal: JournalExtent },
  given: VerifierKey | undefined,
): void {
  const path = join(folder, manifestNoteName)
  const ownPath = verifierKeyPath(treeFolder(join(folder, 'journal')))
  if (given === undefined && journal.lastSeq === 0 && !isPresent(path)) return
  try {
    const own = parseVerifierKey(readFileSync(ownPath, 'utf8').trimEnd())
    const key = given ?? own
    if (formatVerifierKey(own) !== formatVerifierKey(key)) {
      throw new NoteError(`the backup is of a journal with another key than ${key.name}`)
    }
    const note = parseNote(readFileSync(path, 'utf8'))
    const isSigned = note.text === toNoteText(key, text)
    if (isSigned && verifySignatures(note, [key]).length > 0) return
    throw new NoteError(`it is not what ${key.name} has signed`)
  } catch (cause) {
    const why = getErrorMessage(cause)
    const rule = `the signature of the manifest of the backup is missing or wrong: ${why}`
    throw new DataFileError(path, `${rule}. Use another backup`, cause)
  }
}

function readHash(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, 64)
  } catch (cause) {
    throw new DataFileError(path, `cannot be read: ${getErrorMessage(cause)}`, cause)
  }
}

/** The message of an error, with the folder of the user instead of the one that is removed again. */
export function describeFailureIn(folder: string, named: string, cause: unknown): string {
  return getErrorMessage(cause).replaceAll(folder, named)
}
