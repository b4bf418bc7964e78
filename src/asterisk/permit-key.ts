/** Where the secret that signs permits comes from: a file the settings name, or one of our own. */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataFileError } from '../errors.js'
import { makeFolder } from '../folders.js'

export interface PermitKeyPlace {
  /** `asterisk.permitKeyFile`. */
  readonly file?: string | undefined
  readonly dataDir: string
  readonly randomBytes: (size: number) => Buffer
}

const shortestKey = 32

/**
 * The first line of the file. Without a file the key is `permit-key` in the data folder, made when
 * it is not there. Throws a `DataFileError` that names the file and the rule, never the content.
 */
export function loadPermitKey({ file, dataDir, randomBytes }: PermitKeyPlace): string {
  if (file !== undefined) return readKey(file, 'asterisk.permitKeyFile')
  const path = join(dataDir, 'permit-key')
  makeFolder(dataDir)
  makeKey(path, randomBytes)
  return readKey(path, 'the permit key (without asterisk.permitKeyFile it is kept here)')
}

/**
 * Links a whole file into place, which fails where one is: of several processes that start at once
 * each ends up with the key of the first, and none reads half a key.
 */
function makeKey(path: string, randomBytes: (size: number) => Buffer): void {
  if (exists(path)) return
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  try {
    const key = randomBytes(shortestKey).toString('base64url')
    writeFileSync(draft, `${key}\n`, { flag: 'wx', mode: 0o600, flush: true })
    linkSync(draft, path)
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return
    throw new DataFileError(path, `the permit key cannot be made (${codeOf(cause)})`, cause)
  } finally {
    rmSync(draft, { force: true })
  }
}

function exists(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch (cause) {
    return codeOf(cause) !== 'ENOENT'
  }
}

function readKey(path: string, what: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new DataFileError(path, `${what} cannot be read (${codeOf(cause)})`, cause)
  }
  const key = (text.split('\n', 1)[0] ?? '').trim()
  if (key.length >= shortestKey) return key
  throw new DataFileError(
    path,
    `${what} must hold at least ${shortestKey} characters on its first line`,
  )
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}
