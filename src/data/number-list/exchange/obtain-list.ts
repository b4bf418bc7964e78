/** Puts a published version in use on this server: a kept one, or one that is fetched. */
import { type FileHandle, link, open, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DataFileError, getErrorCode } from '../../../errors.js'
import { ensureFolder, moveIntoPlace } from '../../../runtime/folders.js'
import { verifyCheckedFile } from '../../files/checked-file.js'
import type { ListFile, ListFiles } from './list-files.js'

/** Where a server has a published file. */
export interface LocalFile {
  /** The file that is loaded, of whichever version. */
  readonly inUse: string
  /** This version beside it. */
  readonly kept: string
  /** Puts the kept file in use. */
  readonly use: () => Promise<void>
  /** Where lists of other accounts may have the same content. */
  readonly findSameContent: () => readonly string[]
}

export interface ObtainOptions {
  readonly local: LocalFile
  readonly files: ListFiles
  /** Ends a fetch. */
  readonly signal: AbortSignal
}

/**
 * Does nothing if it is in use and intact. A fetch that was interrupted goes on where it ended. Rejects with a
 * message for people if the file cannot be fetched, or is not the one that was published; it is then deleted.
 */
export async function obtainList(file: ListFile, options: ObtainOptions): Promise<void> {
  const { inUse, use } = options.local
  if (await isIntact(inUse, file)) return
  try {
    await fetchList(file, options)
    await use()
  } catch (cause) {
    // Another server with the same folder may have put it in use meanwhile.
    if (!(await isIntact(inUse, file))) throw cause
  }
}

/** As {@link obtainList}, but it is only kept, beside the file in use. */
export async function fetchList(
  file: ListFile,
  { local: { kept, findSameContent }, files, signal }: ObtainOptions,
): Promise<void> {
  if (await isIntact(kept, file)) return
  const folder = dirname(kept)
  ensureFolder(folder)
  for (const path of findSameContent()) {
    if ((await isIntact(path, file)) && (await linkFile(path, kept))) return
  }
  const part = join(folder, `.${basename(kept)}.fetched`)
  await readFile(file, part, { files, signal })
  if (!(await isIntact(part, file))) {
    // Another server with the same folder may have moved it into place, or begun again.
    if (await isIntact(kept, file)) return
    if (((await findSize(part)) ?? 0) >= file.bytes) await rm(part, { force: true })
    files.avoidSource()
    throw new DataFileError(part, `${files.place} has another or a damaged file; it was deleted`)
  }
  try {
    moveIntoPlace(part, kept)
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT' || !(await isIntact(kept, file))) throw cause
  }
}

/** Returns `false` where a link is impossible: the file is fetched then. */
async function linkFile(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch {
    return false
  }
}

/** Whether the file on disk is the published one. */
async function isIntact(path: string, { sha256, bytes }: ListFile): Promise<boolean> {
  try {
    if ((await findSize(path)) !== bytes) return false
    await verifyCheckedFile(path, sha256)
    return true
  } catch (cause) {
    if (cause instanceof DataFileError || getErrorCode(cause) === 'ENOENT') return false
    throw cause
  }
}

async function findSize(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}

/**
 * Servers with the same folder may fetch it at once: each writes its pieces where they belong, which are the same bytes,
 * and goes on where the file ends by then.
 */
async function readFile(
  file: ListFile,
  part: string,
  { files, signal }: Pick<ObtainOptions, 'files' | 'signal'>,
): Promise<void> {
  const target = await openPart(part)
  try {
    for (let { size } = await target.stat(); size < file.bytes; { size } = await target.stat()) {
      signal.throwIfAborted()
      const piece = await files.readPiece(file, size, signal)
      if (piece.length === 0) {
        files.avoidSource()
        throw new DataFileError(part, `${files.place} has only ${size} bytes`)
      }
      for (let at = 0; at < piece.length; ) {
        at += (await target.write(piece, at, piece.length - at, size + at)).bytesWritten
      }
    }
    await target.sync()
  } finally {
    await target.close()
  }
}

/** Opened for writing anywhere, created if it is missing, never emptied. */
async function openPart(part: string): Promise<FileHandle> {
  const created = await open(part, 'a')
  await created.close()
  return await open(part, 'r+')
}
