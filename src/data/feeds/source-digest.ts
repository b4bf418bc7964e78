/** The checksum of a downloaded file that has just been read. */
import { stat } from 'node:fs/promises'
import { DataFileError } from '../../errors.js'
import { type SourceFile, sha256OfFile } from './open-source-file.js'

type ReadFile = Pick<SourceFile, 'path' | 'bytesTotal' | 'modifiedAt'> &
  Partial<Pick<SourceFile, 'readDigest'>>

/**
 * SHA-256 in hex. Throws {@link DataFileError} when the file is not the one that was read: one that
 * is still being downloaded must not pass for whole.
 */
export async function digestOfRead(source: ReadFile): Promise<string> {
  const { path, bytesTotal, modifiedAt } = source
  const digest = source.readDigest?.() ?? (await sha256OfFile(path))
  const now = await stat(path)
  if (now.size === bytesTotal && Math.trunc(now.mtimeMs) === modifiedAt) return digest
  throw new DataFileError(path, 'changed while it was being read; nothing was imported')
}
