/** Reads YAML documents that people edit. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { DataFileError, getErrorMessage } from '../../errors.js'

/**
 * The plain value of a YAML 1.2 file. Throws {@link DataFileError} when the file cannot be read or is
 * not valid YAML, which includes duplicate keys.
 */
export function readYamlFile(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8')) as unknown
  } catch (cause) {
    throw new DataFileError(path, getErrorMessage(cause), cause)
  }
}
