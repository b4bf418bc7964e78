/** Reads YAML documents that people edit. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { DataFileError, getErrorMessage } from '../../errors.js'

/**
 * Parses a YAML 1.2 file. Throws {@link DataFileError} if it cannot be read, is not valid YAML or has
 * duplicate keys.
 */
export function readYamlFile(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8')) as unknown
  } catch (cause) {
    throw new DataFileError(path, getErrorMessage(cause), cause)
  }
}
