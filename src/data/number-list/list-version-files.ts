/**
 * Earlier versions of the lists, kept in their subfolder `versions`. A version is a hard link to the
 * file that was in use, or a copy on file systems without hard links. The list in use is a complete
 * file at every moment.
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
  /** Whether this is the list in use; otherwise it is a kept version. */
  readonly inUse: boolean
}

/** The path of the list in use. */
export function resolveListPath(folder: string, name: string): string {
  return join(folder, `${name}${numberListExtension}`)
}

/** The folder of the earlier versions. */
export function resolveVersionsFolder(folder: string): string {
  return join(folder, 'versions')
}

/** The path of an earlier version, if it is kept. */
export function resolveVersionPath(folder: string, name: string, version: string): string {
  return join(resolveVersionsFolder(folder), `${name}.${version}${numberListExtension}`)
}

/**
 * Keeps the list in use as a version; must be called before it is replaced. Returns the kept version, or
 * `undefined` for a list that is missing or unreadable. `link` creates the hard link.
 */
export function keepVersion(folder: string, name: string, link = linkSync): string | undefined {
  const path = resolveListPath(folder, name)
  const version = readableHeader(path)?.version
  if (version === undefined) return undefined
  const kept = resolveVersionPath(folder, name, version)
  if (existsSync(kept)) return version
  ensureFolder(resolveVersionsFolder(folder))
  try {
    // A link to a symbolic link would be dangling once its target is replaced.
    link(realpathSync(path), kept)
  } catch (cause) {
    // Hard links may be unsupported, forbidden, or impossible across file systems.
    if (getErrorCode(cause) !== 'EEXIST')
      copyFileAtomically(path, kept, temporaryPath(folder, name, version))
  }
  syncFolder(resolveVersionsFolder(folder))
  return version
}

/** Removes the temporary files that a crash left next to the list and its versions. */
export function removeListLeftovers(folder: string, name: string, now: Instant): void {
  const file = `${name}${numberListExtension}`
  removeLeftovers(join(folder, file), now)
  removeLeftovers(join(resolveVersionsFolder(folder), file), now)
}

export interface ListReplacement {
  readonly folder: string
  readonly name: string
  /** How many earlier versions are kept; {@link defaultKeptVersions} by default. */
  readonly keepVersions: number | undefined
  /** Version of the list in use; `null` if it is missing or damaged and therefore not kept. */
  readonly replacedVersion: string | null
}

/** How many earlier versions are kept by default. */
const defaultKeptVersions = 2

/**
 * Replaces a list with `write`: keeps the current list right before the replacement, and deletes the
 * oldest versions after it. Resolves to the result of `write`. Throws {@link DataFileError} if the
 * current list is no longer the one that the new list was built from or compared with.
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

/** Throws if the list was replaced concurrently, which the lock prevents unless hosts share a name. */
function refuseConcurrentReplace(path: string, expected: string): void {
  const found = readableHeader(path)?.version
  if (found === expected) return
  const now = found === undefined ? 'was removed' : `is now version ${found}`
  throw new DataFileError(
    path,
    `${now}, but was ${expected} when the import began; nothing was imported; import again`,
  )
}

/** A temporary name that the cleanup after a crash recognizes. */
function temporaryPath(folder: string, name: string, version: string): string {
  const file = `.${name}${numberListExtension}.${version}.${process.pid}.part`
  return join(resolveVersionsFolder(folder), file)
}

/** Copies to a temporary file, syncs it to disk, and only then renames it to its target. */
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
 * Removes all but the newest `keep` earlier versions; must be called after the replacement. `replaced`,
 * the version that was in use before, is treated as the newest, however old its content is.
 */
export function pruneVersions(folder: string, name: string, keep: number, replaced?: string): void {
  const inUse = readableHeader(resolveListPath(folder, name))?.version
  const kept = findKeptFiles(folder, name).filter(({ version }) => version !== inUse)
  const rank = ({ version, header }: KeptFile) =>
    version === replaced ? Number.POSITIVE_INFINITY : (header?.importedAt ?? -1)
  const order = kept.sort((one, other) => rank(other) - rank(one))
  const going = [...order.slice(keep).map(({ version }) => version)]
  // After a crash before the replacement, the list in use still has both of its links.
  if (inUse !== undefined) going.push(inUse)
  for (const version of going) rmSync(resolveVersionPath(folder, name, version), { force: true })
}

/** The list in use, then the kept versions, newest first. Files that cannot be read are left out. */
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

/** `undefined` for a file that is missing or whose header is damaged. */
function readableHeader(path: string): Header | undefined {
  try {
    return readNumberListHeader(path)
  } catch (cause) {
    if (cause instanceof DataFileError || getErrorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}
