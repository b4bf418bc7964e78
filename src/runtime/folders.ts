/** The folders and files that callgate writes to. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { copyFile, open, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { DataFileError, getErrorCode } from '../errors.js'
import { cleanUpOnSignal } from './signals.js'

/**
 * Creates a folder, and its missing parents, that only its owner can use; does nothing if it exists.
 * Throws {@link DataFileError} with the path that prevents it and the reason.
 *
 * `mkdirSync(path, { recursive: true })` is not used because it never returns when the system
 * reports ENOENT for a folder whose parent exists, as below /proc.
 */
export function ensureFolder(path: string): void {
  const folder = resolve(path)
  if (isFolder(folder)) return
  ensureFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    // Another process may have created it at the same time.
    if (getErrorCode(cause) === 'EEXIST' && isFolder(folder)) return
    throw new DataFileError(folder, `the folder cannot be created: ${reasonOf(cause)}`, cause)
  }
}

/**
 * Gives root's files below the folder to the owner of the folder, who could not use them otherwise. A hard-linked file that is
 * older than this process may belong elsewhere, so it is left unchanged.
 */
export function giveToOwner(folder: string): void {
  const owner = statSync(folder)
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.uid !== 0) continue
    if (found.isFile() && found.nlink > 1 && found.birthtimeMs < performance.timeOrigin) continue
    lchownSync(path, owner.uid, owner.gid)
  }
}

/** Makes a rename inside the folder durable. */
export function syncFolder(folder: string): void {
  syncHandle(openSync(folder, 'r'))
}

/** Makes the content of a file durable. */
export function syncFile(path: string): void {
  syncHandle(openSync(path, 'r+'))
}

function syncHandle(handle: number): void {
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Renames a complete, synced file to the path of the one it replaces. After a crash at any point the
 * path has either the old or the new file; once this returns, it has the new one.
 */
export function moveIntoPlace(aside: string, path: string): void {
  renameSync(aside, path)
  syncFolder(dirname(path))
}

/** Replaces `path` by a copy, as {@link moveIntoPlace} does, without waiting for the disk. */
export async function copyIntoPlace(from: string, path: string): Promise<void> {
  // Hosts that share the folder may have the same process ids.
  const aside = join(
    dirname(path),
    `.${basename(path)}.${process.pid}-${hostname().replaceAll('.', '-')}.part`,
  )
  try {
    await copyFile(from, aside, constants.COPYFILE_FICLONE)
    await syncInBackground(aside, 'r+')
    await rename(aside, path)
    await syncInBackground(dirname(path), 'r')
  } catch (cause) {
    await rm(aside, { force: true })
    throw cause
  }
}

async function syncInBackground(path: string, flags: string): Promise<void> {
  const file = await open(path, flags)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Writes a file that only its owner can read, under another name until it is complete, so that `path` is
 * never incomplete. A failure or a signal leaves nothing of it. Throws {@link DataFileError} if it cannot be
 * written.
 */
export async function writeWholeFile<Result>(
  path: string,
  work: (write: (text: string) => void) => Promise<Result>,
): Promise<Result> {
  const aside = `${path}.${process.pid}.part`
  const remove = () => rmSync(aside, { force: true })
  try {
    return await cleanUpOnSignal(remove, async () => {
      const file = openSync(aside, 'wx', 0o600)
      try {
        const result = await work((text) => writeFileSync(file, text))
        fsyncSync(file)
        moveIntoPlace(aside, path)
        return result
      } finally {
        closeSync(file)
      }
    })
  } catch (cause) {
    remove()
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause
    throw new DataFileError(path, `cannot be written: ${cause.message}`, cause)
  }
}

/** The stamp of a missing file. */
export const missingFileStamp = 'missing'

/** Changes whenever the file is replaced or modified. */
export function readFileStamp(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? toStamp(found) : missingFileStamp
}

/** Like {@link readFileStamp}, but does not wait for the disk. */
export async function readFileStampInBackground(path: string): Promise<string> {
  try {
    return toStamp(await stat(path, { bigint: true }))
  } catch (cause) {
    const code = getErrorCode(cause)
    if (code === 'ENOENT' || code === 'ENOTDIR') return missingFileStamp
    throw cause
  }
}

function toStamp({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
}

/** Throws {@link DataFileError} if that cannot be found out: a file on a disk that fails is not a missing one, as `existsSync` says. */
export function isPresent(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (cause) {
    // Something else is where its folder would be.
    if (getErrorCode(cause) === 'ENOTDIR') return false
    throw new DataFileError(path, `cannot be looked for: ${reasonOf(cause)}`, cause)
  }
}

/** Throws {@link DataFileError} with the path if the disk does not give it, so that this is not taken for damage. */
export function readWholeFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new DataFileError(path, `cannot be read: ${reasonOf(cause)}`, cause)
  }
}

/** False when the path does not exist; throws when it is not a folder. */
export function isFolder(path: string): boolean {
  try {
    if (statSync(path).isDirectory()) return true
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') {
      throw new DataFileError(path, `cannot be used as a folder: ${reasonOf(cause)}`, cause)
    }
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false
    const rule = `is a symbolic link to ${readlinkSync(path)}, which does not exist`
    throw new DataFileError(path, rule, cause)
  }
  throw new DataFileError(path, 'exists and is not a folder')
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'folders cannot be created there',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'part of its path is not a folder',
  EPERM: 'the operation is not permitted there',
  EROFS: 'the file system is read-only',
}

function reasonOf(cause: unknown): string {
  const code = getErrorCode(cause)
  const reason = code === undefined ? undefined : reasons[code]
  return reason === undefined ? String(cause) : `${reason} (${code})`
}
