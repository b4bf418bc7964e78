/** Reads keys and passwords from files. Error messages never contain the content. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { DataFileError, getErrorMessage } from '../errors.js'

/**
 * The first line, trimmed; the rest of the file may be a comment. Throws
 * {@link DataFileError} with the name of the setting or option for a file that cannot be read or
 * begins with an empty line.
 */
export function readFirstLine(path: string, setting: string): string {
  const line = readWholeFile(path, setting).split(/\r?\n/, 1)[0]?.trim() ?? ''
  if (line === '') throw new DataFileError(path, `${setting}: its first line is empty`)
  return line
}

/** Like {@link readFirstLine}, but throws when the line is not a valid API key. */
export function readKeyFile(path: string, setting: string): string {
  const key = readFirstLine(path, setting)
  if (isApiKey(key)) return key
  throw new DataFileError(path, `${setting}: its first line must be ${apiKeyRule}`)
}

/** Whether the text can be sent in an HTTP header unchanged (spec, "Authentication"). */
export function isApiKey(text: string): boolean {
  return /^[\x21-\x7e]{1,500}$/.test(text)
}

export const apiKeyRule = '1 to 500 visible ASCII characters, without spaces'

/** Throws as {@link readFirstLine} does. */
export function readWholeFile(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `${setting}: cannot be read: ${why}`, cause)
  }
}

interface SecretFile {
  /** Such as `asterisk.servers.0.passwordFile`. */
  readonly setting: string
  readonly path: string
}

/** All secret files in the settings, at any depth. */
export function listSecretFiles(settings: object, group = ''): readonly SecretFile[] {
  return Object.entries(settings).flatMap(([name, value]: [string, unknown]) => {
    const setting = `${group}${name}`
    if (typeof value === 'string') {
      const isSecret = /^(?:loginId|clientSecret|password|permitKey|secretAccessKey)File$/.test(
        name,
      )
      return isSecret ? [{ setting, path: value }] : []
    }
    return typeof value === 'object' && value !== null ? listSecretFiles(value, `${setting}.`) : []
  })
}

/** SHA-256 of each secret file by its setting, so that a change can be noticed; `missing` if it cannot be read. */
export function hashSecretFiles(settings: object): Readonly<Record<string, string>> {
  const hash = (path: string) => {
    try {
      // A pipe can be read only once, and has been.
      if (!statSync(path).isFile()) return 'not a file'
      return createHash('sha256').update(readFileSync(path)).digest('hex')
    } catch {
      return 'missing'
    }
  }
  return Object.fromEntries(
    listSecretFiles(settings).map(({ setting, path }) => [setting, hash(path)]),
  )
}
