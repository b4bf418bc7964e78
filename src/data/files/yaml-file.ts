/** Reads YAML documents that people edit. */
import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { DataFileError, getErrorMessage } from '../../errors.js'

/**
 * Parses a YAML 1.2 file. Throws {@link DataFileError} if it cannot be read, is not one valid YAML document,
 * or has duplicate keys.
 */
export function readYamlFile(path: string): unknown {
  try {
    return load(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new DataFileError(path, getErrorMessage(cause), cause)
  }
}
