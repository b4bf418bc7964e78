/** Loads the secret that signs permits from a configured file, or from a generated one. */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataFileError, getErrorCode } from '../errors.js'
import { ensureFolder, isPresent } from '../runtime/folders.js'

export interface PermitKeyOptions {
  /** `asterisk.permitKeyFile`. */
  readonly file?: string | undefined
  readonly dataDir: string
  readonly randomBytes: (size: number) => Buffer
}

const minKeyLength = 32

/**
 * Returns the first line of the file. Without a configured file, uses `permit-key` in the data folder,
 * created if missing. Throws a `DataFileError` that names the file and the rule, never the content.
 */
export function loadPermitKey({ file, dataDir, randomBytes }: PermitKeyOptions): string {
  if (file !== undefined) return readKey(file, 'asterisk.permitKeyFile')
  const path = join(dataDir, 'permit-key')
  ensureFolder(dataDir)
  createKeyFile(path, randomBytes)
  return readKey(path, 'the permit key (used without asterisk.permitKeyFile)')
}

/**
 * Links a complete file into place, which fails if one exists: when several processes start at once,
 * all use the key of the first, and none reads a partial key.
 */
function createKeyFile(path: string, randomBytes: (size: number) => Buffer): void {
  if (isPresent(path)) return
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  try {
    const key = randomBytes(minKeyLength).toString('base64url')
    writeFileSync(draft, `${key}\n`, { flag: 'wx', mode: 0o600, flush: true })
    linkSync(draft, path)
  } catch (cause) {
    if (getErrorCode(cause) === 'EEXIST') return
    throw new DataFileError(
      path,
      `the permit key cannot be created (${getErrorCode(cause) ?? 'unknown'})`,
      cause,
    )
  } finally {
    rmSync(draft, { force: true })
  }
}

function readKey(path: string, what: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new DataFileError(
      path,
      `${what} cannot be read (${getErrorCode(cause) ?? 'unknown'})`,
      cause,
    )
  }
  const key = (text.split('\n', 1)[0] ?? '').trim()
  if (key.length >= minKeyLength) return key
  throw new DataFileError(
    path,
    `${what} must have at least ${minKeyLength} characters on its first line`,
  )
}
