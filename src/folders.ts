/** The folders that callgate writes to. */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DataFileError } from './errors.js'

/**
 * Makes a folder, and those above it that are missing, for its owner alone; does nothing where it
 * exists. Throws {@link DataFileError} with the path that is in the way and the reason.
 *
 * `mkdirSync(path, { recursive: true })` is not used because it never returns where the system
 * answers ENOENT for a folder whose parent exists, as below /proc.
 */
export function makeFolder(path: string): void {
  const folder = resolve(path)
  if (isFolder(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    // Another process may have made it at the same moment.
    if (codeOf(cause) === 'EEXIST' && isFolder(folder)) return
    throw new DataFileError(folder, `the folder cannot be made: ${reasonOf(cause)}`, cause)
  }
}

/** Makes a rename inside the folder durable. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** False where there is nothing; what is there and no folder is refused. */
function isFolder(path: string): boolean {
  try {
    if (statSync(path).isDirectory()) return true
  } catch (cause) {
    if (codeOf(cause) !== 'ENOENT') {
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
  const code = codeOf(cause)
  const reason = reasons[code]
  return reason === undefined ? String(cause) : `${reason} (${code})`
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}
