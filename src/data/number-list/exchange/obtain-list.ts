/** Puts a published version of a list in use in a folder: a kept one, or one that is fetched. */
import { rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../domain/time/clock.js'
import { DataFileError, getErrorCode } from '../../../errors.js'
import { ensureFolder, moveIntoPlace } from '../../../runtime/folders.js'
import { verifyCheckedFile } from '../../files/checked-file.js'
import { rollBackList } from '../list-rollback.js'
import {
  findVersions,
  resolveListPath,
  resolveVersionPath,
  resolveVersionsFolder,
} from '../list-version-files.js'
import { type ListFile, type ListFiles, toFileName } from './list-files.js'

export interface ObtainOptions {
  readonly folder: string
  readonly files: ListFiles
  readonly keepVersions: number
  readonly clock: Clock
  /** Ends a fetch. */
  readonly signal: AbortSignal
}

/**
 * Does nothing if it is in use and intact. A fetch that was interrupted goes on where it ended. Rejects with a
 * message for people if the file cannot be fetched, or is not the one that was published; it is then deleted.
 */
export async function obtainList(file: ListFile, options: ObtainOptions): Promise<void> {
  const { folder, keepVersions: keep, clock } = options
  const { name, version } = file
  const path = resolveListPath(folder, name)
  if (await isIntact(path, file)) return
  await fetchList(file, options)
  // A damaged file of this version is not one to go back to.
  if (findVersions(folder, name).some((one) => one.inUse && one.version === version)) rmSync(path)
  await rollBackList({ folder, name, to: version, keep, clock })
}

/** As {@link obtainList}, but it is only kept, beside the list in use. */
export async function fetchList(
  file: ListFile,
  options: Pick<ObtainOptions, 'folder' | 'files' | 'signal'>,
): Promise<void> {
  const { folder, files } = options
  const kept = resolveVersionPath(folder, file.name, file.version)
  if (await isIntact(kept, file)) return
  ensureFolder(resolveVersionsFolder(folder))
  const part = join(resolveVersionsFolder(folder), `.${toFileName(file)}.fetched`)
  await readFile(file, part, options)
  if (!(await isIntact(part, file))) {
    rmSync(part, { force: true })
    throw new DataFileError(part, `${files.place} has another or a damaged file; it was deleted`)
  }
  moveIntoPlace(part, kept)
}

/** Whether the file on disk is the published one. */
async function isIntact(path: string, { sha256, bytes }: ListFile): Promise<boolean> {
  if (statSync(path, { throwIfNoEntry: false })?.size !== bytes) return false
  try {
    await verifyCheckedFile(path, sha256)
    return true
  } catch (cause) {
    if (cause instanceof DataFileError || getErrorCode(cause) === 'ENOENT') return false
    throw cause
  }
}

async function readFile(
  file: ListFile,
  part: string,
  { files, signal }: Pick<ObtainOptions, 'files' | 'signal'>,
): Promise<void> {
  const target = await open(part, 'a')
  try {
    let { size } = await target.stat()
    while (size < file.bytes) {
      signal.throwIfAborted()
      const piece = await files.readPiece(file, size, signal)
      if (piece.length === 0) throw new DataFileError(part, `${files.place} has only ${size} bytes`)
      await target.writeFile(piece)
      size += piece.length
    }
    await target.sync()
  } finally {
    await target.close()
  }
}
