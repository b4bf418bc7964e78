/** Reads YAML documents that people edit. What a document must hold is checked by its reader. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { DataFileError } from '../errors.js'

/**
 * The plain value of a YAML 1.2 file. Throws {@link DataFileError} when the file cannot be read or
 * is no YAML; a key that comes twice in one place is an error too.
 */
export function readYamlFile(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8')) as unknown
  } catch (cause) {
    throw new DataFileError(path, cause instanceof Error ? cause.message : String(cause), cause)
  }
}
