/** Each version of the calling rules in use, kept once beside the journal: a record names the one it was judged by. */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataFileError, getErrorCode, getErrorMessage } from '../../../errors.js'
import {
  ensureFolder,
  isPresent,
  moveIntoPlace,
  readWholeFile,
  syncFolder,
} from '../../../runtime/folders.js'

/** What a version is called: the first 12 hex digits of the SHA-256 of its text. */
export const nameVersion = (text: string | Buffer): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12)

const rulesFolder = (journalFolder: string): string => join(journalFolder, 'rules')

const rulesPath = (journalFolder: string, version: string): string =>
  join(rulesFolder(journalFolder), `${version}.json`)

/**
 * Does nothing if the version is there already. Once this returns, it is on disk. Throws a {@link DataFileError} that names the file
 * if it cannot be written, or holds something else.
 */
export function keepRules(journalFolder: string, text: string): void {
  const path = rulesPath(journalFolder, nameVersion(text))
  ensureFolder(rulesFolder(journalFolder))
  if (!isPresent(path)) {
    writeRules(path, text)
    syncFolder(journalFolder)
  } else if (readKept(path).toString() !== text) {
    const rule = 'does not hold the calling rules that it is named after'
    throw new DataFileError(path, `${rule}. Move it away, and the rules are written again`)
  }
}

/** Many times the rules of today. */
const maxBytes = 16 * 1024 * 1024

/** A pipe or a device would never end. */
function readKept(path: string): Buffer {
  const found = statSync(path)
  if (found.isFile() && found.size <= maxBytes) return readWholeFile(path)
  const rule = `must be a regular file of at most ${maxBytes} bytes`
  throw new DataFileError(path, `${rule}: it is named as calling rules. Move it away`)
}

/** Several threads may write the same version at once. */
function writeRules(path: string, text: string): void {
  const aside = `${path}.${randomBytes(6).toString('hex')}.part`
  try {
    writeFileSync(aside, text, { mode: 0o600, flush: true })
    moveIntoPlace(aside, path)
  } catch (cause) {
    rmSync(aside, { force: true })
    throw new DataFileError(path, `cannot be written: ${getErrorMessage(cause)}`, cause)
  }
}

/**
 * The versions that are kept. Throws a {@link DataFileError} that names the folder if it cannot be read: each start of a server
 * makes it before it decides.
 */
export function listRules(journalFolder: string): readonly string[] {
  const folder = rulesFolder(journalFolder)
  try {
    return readdirSync(folder).flatMap((name) => /^([0-9a-f]{12})\.json$/.exec(name)?.[1] ?? [])
  } catch (cause) {
    const rule = 'cannot be read: it has the calling rules that decisions were judged by'
    throw new DataFileError(folder, `${rule} (${getErrorCode(cause)})`, cause)
  }
}

/** Throws a {@link DataFileError} that names the file if it is missing, or does not hold that version. */
export function readRules(journalFolder: string, version: string): Buffer {
  const path = rulesPath(journalFolder, version)
  if (!/^[0-9a-f]{12}$/.test(version)) {
    throw new DataFileError(path, 'cannot be one of calling rules: a version has 12 hex digits')
  }
  if (!isPresent(path)) {
    throw new DataFileError(
      path,
      'is missing: it has the calling rules that decisions were judged by',
    )
  }
  const text = readKept(path)
  if (nameVersion(text) === version) return text
  throw new DataFileError(path, 'does not hold the calling rules that it is named after')
}
