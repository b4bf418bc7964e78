/**
 * Earlier versions of the lists, kept in the folder `versions` beside them. A version is the file as
 * it was in use: a second name for it, or a copy where the file system has no second names. At any
 * moment the list in use is a whole file.
 */
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorCode } from '../../errors.js'
import { ensureFolder, syncFile, syncFolder } from '../../runtime/folders.js'
import { removeLeftovers } from '../files/leftover-files.js'
import {
  type NumberListHeader,
  numberListExtension,
  readNumberListHeader,
} from './format/number-list-format.js'

export interface ListVersionFile extends NumberListHeader {
  readonly version: string
  readonly path: string
  /** Whether it is the one that answers now; else it is kept. */
  readonly inUse: boolean
}

/** Where the list in use is. */
export function resolveListPath(folder: string, name: string): string {
  return join(folder, `${name}${numberListExtension}`)
}

/** Where its earlier versions are. */
export function resolveVersionsFolder(folder: string): string {
  return join(folder, 'versions')
}

/** Where an earlier version is, if it is kept. */
export function resolveVersionPath(folder: string, name: string, version: string): string {
  return join(resolveVersionsFolder(folder), `${name}.${version}${numberListExtension}`)
}

/**
 * Gives the list in use a second name, to be called before it is replaced. Nothing is kept of a list
 * that is missing or not to be read. Gives the version that is kept. `link` makes the second name.
 */
export function keepVersion(folder: string, name: string, link = linkSync): string | undefined {
  const path = resolveListPath(folder, name)
  const version = readableHeader(path)?.version
  if (version === undefined) return undefined
  const kept = resolveVersionPath(folder, name, version)
  if (existsSync(kept)) return version
  ensureFolder(resolveVersionsFolder(folder))
  try {
    // A second name for a symbolic link would lead nowhere once that is replaced.
    link(realpathSync(path), kept)
  } catch (cause) {
    // Links may be unknown to the file system, forbidden, or not lead to another one.
    if (getErrorCode(cause) !== 'EEXIST')
      copyFileAtomically(path, kept, temporaryPath(folder, name, version))
  }
  syncFolder(resolveVersionsFolder(folder))
  return version
}

/** Removes what a crash left beside the list and beside its versions. */
export function removeListLeftovers(folder: string, name: string, now: Instant): void {
  const file = `${name}${numberListExtension}`
  removeLeftovers(join(folder, file), now)
  removeLeftovers(join(resolveVersionsFolder(folder), file), now)
}

export interface ListReplacement {
  readonly folder: string
  readonly name: string
  /** Earlier versions that are kept; {@link defaultKeptVersions} when left out. */
  readonly keepVersions: number | undefined
  /** Version of the list in use; `null` when it is missing or damaged and so not worth keeping. */
  readonly replacedVersion: string | null
}

/** Earlier versions that are kept unless it is said. */
const defaultKeptVersions = 2

/**
 * Lets `write` put a new list in place: the one in use is kept right before the swap, and the oldest
 * versions go after it. Gives what `write` gives. Throws {@link DataFileError} when the list in
 * use is no longer the one that the new one was made or judged against.
 */
export async function replaceList(
  { folder, name, keepVersions = defaultKeptVersions, replacedVersion }: ListReplacement,
  write: (beforeSwap: () => void) => Promise<string>,
): Promise<string> {
  let kept: string | undefined
  const version = await write(() => {
    if (replacedVersion !== null)
      refuseConcurrentReplace(resolveListPath(folder, name), replacedVersion)
    if (keepVersions > 0 && replacedVersion !== null) kept = keepVersion(folder, name)
  })
  pruneVersions(folder, name, keepVersions, kept)
  return version
}

/** The lock prevents it, unless hosts that share the folder have one name. */
function refuseConcurrentReplace(path: string, expected: string): void {
  const found = readableHeader(path)?.version
  if (found === expected) return
  const now = found === undefined ? 'is gone' : `is version ${found} now`
  throw new DataFileError(
    path,
    `${now} and was ${expected} when the import began; nothing was imported: import again`,
  )
}

/** A name that the cleaning up after a crash knows as that of a file written aside. */
function temporaryPath(folder: string, name: string, version: string): string {
  const file = `.${name}${numberListExtension}.${version}.${process.pid}.part`
  return join(resolveVersionsFolder(folder), file)
}

/** Copies beside the target, to the disk, and only then gives the copy its name. */
export function copyFileAtomically(from: string, to: string, aside: string): void {
  try {
    copyFileSync(from, aside, constants.COPYFILE_FICLONE)
    syncFile(aside)
    renameSync(aside, to)
  } catch (cause) {
    rmSync(aside, { force: true })
    throw cause
  }
}

/**
 * Removes all but the newest `keep` earlier versions, to be called after the swap. `replaced`, the
 * one that was in use before, counts as the newest, however old its content is.
 */
export function pruneVersions(folder: string, name: string, keep: number, replaced?: string): void {
  const inUse = readableHeader(resolveListPath(folder, name))?.version
  const kept = findKeptFiles(folder, name).filter(({ version }) => version !== inUse)
  const rank = ({ version, header }: KeptFile) =>
    version === replaced ? Number.POSITIVE_INFINITY : (header?.importedAt ?? -1)
  const order = kept.sort((one, other) => rank(other) - rank(one))
  const going = [...order.slice(keep).map(({ version }) => version)]
  // A crash before the swap leaves the list in use with both its names.
  if (inUse !== undefined) going.push(inUse)
  for (const version of going) rmSync(resolveVersionPath(folder, name, version), { force: true })
}

/** The list in use first, then what is kept, newest first. Files that cannot be read are left out. */
export function findVersions(folder: string, name: string): readonly ListVersionFile[] {
  const path = resolveListPath(folder, name)
  const current = readableHeader(path)
  const kept = findKeptFiles(folder, name).flatMap(({ version, header }) => {
    if (!header || version === current?.version) return []
    return [{ ...header, path: resolveVersionPath(folder, name, version), inUse: false }]
  })
  kept.sort((one, other) => other.importedAt - one.importedAt)
  return [...(current ? [{ ...current, path, inUse: true }] : []), ...kept]
}

type Header = ReturnType<typeof readNumberListHeader>

interface KeptFile {
  readonly version: string
  readonly header: Header | undefined
}

function findKeptFiles(folder: string, name: string): KeptFile[] {
  const pattern = new RegExp(`^${name}\\.([0-9a-f]{16})\\${numberListExtension}$`)
  return listFiles(resolveVersionsFolder(folder)).flatMap((file) => {
    const version = pattern.exec(file)?.[1]
    if (version === undefined) return []
    const header = readableHeader(resolveVersionPath(folder, name, version))
    return [{ version, header: header?.version === version ? header : undefined }]
  })
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return []
    throw cause
  }
}

/** `undefined` for a file that is missing or damaged where its header is. */
function readableHeader(path: string): Header | undefined {
  try {
    return readNumberListHeader(path)
  } catch (cause) {
    if (cause instanceof DataFileError || getErrorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}
