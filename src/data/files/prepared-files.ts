/**
 * Reads the prepared numbering files: synchronously at startup and for commands, or in pieces, so that
 * a running server can do other work in between.
 */
import { getErrorCode } from '../../errors.js'
import { isPresent } from '../../runtime/folders.js'
import {
  type CheckedFile,
  type FileKind,
  readCheckedFile,
  readCheckedFileInPieces,
} from './checked-file.js'

/** Returns `undefined` if there is no such file. Throws `DataFileError` for a damaged one. */
export type PreparedFileReader = (path: string, kind: FileKind) => CheckedFile | undefined

export const readPreparedFile: PreparedFileReader = (path, kind) =>
  isPresent(path) ? readCheckedFile(path, kind) : undefined

/** Reads the files in advance; the returned reader then returns each one, or throws if it is damaged. */
export async function readPreparedFilesInBackground(
  files: readonly (readonly [path: string, kind: FileKind])[],
): Promise<PreparedFileReader> {
  const found = new Map<string, () => CheckedFile | undefined>()
  for (const [path, kind] of files) found.set(path, await readOne(path, kind))
  return (path, kind) => {
    const file = found.get(path)
    return file ? file() : readPreparedFile(path, kind)
  }
}

async function readOne(path: string, kind: FileKind): Promise<() => CheckedFile | undefined> {
  try {
    const file = await readCheckedFileInPieces(path, kind)
    return () => file
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return () => undefined
    return () => {
      throw cause
    }
  }
}
