/** The checksum of a downloaded file that has just been read. */
import { stat } from 'node:fs/promises'
import { DataFileError } from '../../errors.js'
import { type SourceFile, sha256OfFile } from './open-source-file.js'

/**
 * SHA-256 in hex. Throws {@link DataFileError} when the file is not the one that was read: one that
 * is still being downloaded must not pass for whole.
 */
export async function digestOfRead({
  path,
  bytesTotal,
  modifiedAt,
}: Pick<SourceFile, 'path' | 'bytesTotal' | 'modifiedAt'>): Promise<string> {
  const digest = await sha256OfFile(path)
  const now = await stat(path)
  if (now.size === bytesTotal && Math.trunc(now.mtimeMs) === modifiedAt) return digest
  throw new DataFileError(path, 'changed while it was being read; nothing was imported')
}
