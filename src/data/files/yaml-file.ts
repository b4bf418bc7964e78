/** Reads YAML documents that people edit. */
import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { DataFileError, getErrorMessage } from '../../errors.js'

/** Parses a YAML 1.2 file. Throws {@link DataFileError} if it cannot be read, and as {@link parseYaml} does. */
export const readYamlFile = (path: string): unknown => parseYaml(path, readTextFile(path))

/** Throws {@link DataFileError} if it cannot be read. */
export const readTextFile = (path: string): string => naming(path, () => readFileSync(path, 'utf8'))

/** Throws {@link DataFileError}, which names the path, if the text is not one valid YAML document or has duplicate keys. */
export const parseYaml = (path: string, text: string): unknown => naming(path, () => load(text))

function naming<Result>(path: string, read: () => Result): Result {
  try {
    return read()
  } catch (cause) {
    throw new DataFileError(path, getErrorMessage(cause), cause)
  }
}
