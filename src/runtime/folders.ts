/** The folders and files that callgate writes to. */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DataFileError, getErrorCode } from '../errors.js'

/**
 * Makes a folder, and those above it that are missing, for its owner alone; does nothing where it
 * exists. Throws {@link DataFileError} with the path that is in the way and the reason.
 *
 * `mkdirSync(path, { recursive: true })` is not used because it never returns where the system
 * answers ENOENT for a folder whose parent exists, as below /proc.
 */
export function ensureFolder(path: string): void {
  const folder = resolve(path)
  if (isFolder(folder)) return
  ensureFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    // Another process may have made it at the same moment.
    if (getErrorCode(cause) === 'EEXIST' && isFolder(folder)) return
    throw new DataFileError(folder, `the folder cannot be made: ${reasonOf(cause)}`, cause)
  }
}

/** Makes a rename inside the folder durable. */
export function syncFolder(folder: string): void {
  syncHandle(openSync(folder, 'r'))
}

/** Makes what was written to a file durable. */
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
 * Gives a file that is written and synced the name of the one it replaces. A crash at any point leaves
 * one of the two whole; when this returns it is the new one.
 */
export function moveIntoPlace(aside: string, path: string): void {
  renameSync(aside, path)
  syncFolder(dirname(path))
}

/** The stamp of a file that is not there. */
export const missingFileStamp = 'missing'

/** Differs for every file that was ever put in this place. */
export function readFileStamp(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : missingFileStamp
}

/** False when nothing is there; throws when what is there is not a folder. */
function isFolder(path: string): boolean {
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
  ENOENT: 'the file system there does not take folders',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'the operation is not permitted there',
  EROFS: 'the file system is read-only',
}

function reasonOf(cause: unknown): string {
  const code = getErrorCode(cause)
  const reason = code === undefined ? undefined : reasons[code]
  return reason === undefined ? String(cause) : `${reason} (${code})`
}
