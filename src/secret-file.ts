/** Keys and passwords that stand in files of their own. No message holds what is in them. */
import { readFileSync } from 'node:fs'
import { DataFileError } from './errors.js'

/**
 * The first line, without the space around it; the rest of the file may be a remark. Throws
 * {@link DataFileError} with the name of the setting or option for a file that cannot be read or
 * begins with an empty line.
 */
export function firstLineOf(path: string, setting: string): string {
  const line = contentOf(path, setting).split(/\r?\n/, 1)[0]?.trim() ?? ''
  if (line === '') throw new DataFileError(path, `${setting}: its first line is empty`)
  return line
}

/** As {@link firstLineOf}, and refuses what is no API key. */
export function keyIn(path: string, setting: string): string {
  const key = firstLineOf(path, setting)
  if (isKey(key)) return key
  throw new DataFileError(path, `${setting}: its first line must be ${keyRule}`)
}

/** What a header carries as it is (spec, "Authentication": keys travel in one). */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]{1,500}$/.test(text)
}

export const keyRule = '1 to 500 visible ASCII characters, without a space'

function contentOf(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new DataFileError(path, `${setting}: cannot be read: ${why}`, cause)
  }
}
