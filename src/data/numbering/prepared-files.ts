/**
 * Reads prepared files of the numbering data: at once, for a start and for commands, or in pieces
 * between which a running server does its other work. What is in them is left to their readers.
 */
import { existsSync } from 'node:fs'
import {
  type CheckedFile,
  type FileKind,
  readCheckedFile,
  readCheckedFileInPieces,
} from '../checked-file.js'

/** `undefined` when there is no such file. Throws `DataFileError` for a damaged one. */
export type ReadPrepared = (path: string, kind: FileKind) => CheckedFile | undefined

export const readPreparedFile: ReadPrepared = (path, kind) =>
  existsSync(path) ? readCheckedFile(path, kind) : undefined

/** The files as they are by now, to be asked for one by one later; damage is told then. */
export async function readInPieces(
  files: readonly (readonly [path: string, kind: FileKind])[],
): Promise<ReadPrepared> {
  const found = new Map<string, () => CheckedFile | undefined>()
  for (const [path, kind] of files) found.set(path, await readOne(path, kind))
  return (path, kind) => {
    const file = found.get(path)
    return file ? file() : readPreparedFile(path, kind)
  }
}

async function readOne(path: string, kind: FileKind): Promise<() => CheckedFile | undefined> {
  if (!existsSync(path)) return () => undefined
  try {
    const file = await readCheckedFileInPieces(path, kind)
    return () => file
  } catch (cause) {
    return () => {
      throw cause
    }
  }
}
