/**
 * Earlier versions of the lists. A version is a hard link to the file that was in use, or a copy on file systems without hard
 * links. The list in use is a complete file at every moment.
 */
import {
  constants,
  copyFileSync,
  linkSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorCode } from '../../errors.js'
import {
  ensureFolder,
  isPresent,
  moveIntoPlace,
  syncFile,
  syncFolder,
} from '../../runtime/folders.js'
import { removeLeftovers } from '../files/leftover-files.js'
import { hasEqualContent, mayHaveEqualContent } from './format/equal-content.js'
import {
  type NumberListHeader,
  numberListExtension,
  readNumberListHeader,
} from './format/number-list-format.js'
import { splitListName } from './list-names.js'
import {
  findListNames,
  listFilesIn,
  resolveListPath,
  resolveVersionPath,
  resolveVersionsFolder,
} from './list-paths.js'

export interface ListVersionFile extends NumberListHeader {
  readonly version: string
  readonly path: string
  /** Whether this is the list in use; otherwise it is a kept version. */
  readonly inUse: boolean
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
  if (isPresent(kept)) return version
  ensureFolder(resolveVersionsFolder(folder, name))
  try {
    // A link to a symbolic link would be dangling once its target is replaced.
    link(realpathSync(path), kept)
  } catch (cause) {
    // Hard links may be unsupported, forbidden, or impossible across file systems.
    if (getErrorCode(cause) !== 'EEXIST')
      copyFileAtomically(path, kept, temporaryPath(folder, name, version))
  }
  syncFolder(resolveVersionsFolder(folder, name))
  return version
}

/** Removes the temporary files that a crash left next to the list and its versions. */
export function removeListLeftovers(folder: string, name: string, now: Instant): void {
  removeLeftovers(resolveListPath(folder, name), now)
  const list = resolveListPath(folder, name)
  removeLeftovers(join(resolveVersionsFolder(folder, name), basename(list)), now)
}

/** What a list that is a link to the file of another account would say of its own import. */
type OwnImport = Pick<NumberListHeader, 'feed' | 'importedAt' | 'previous' | 'sources'>

interface NamedVersion {
  readonly name: string
  readonly version: string
}

function resolveOwnImportPath(folder: string, { name, version }: NamedVersion): string {
  const file = `${splitListName(name).list}.${version}.json`
  return join(resolveVersionsFolder(folder, name), file)
}

function writeOwnImport(folder: string, of: NamedVersion, header: OwnImport): void {
  const path = resolveOwnImportPath(folder, of)
  const { feed, importedAt, previous, sources } = header
  // The same content again has replaced nothing.
  if (previous === of.version && readOwnImport(folder, of)) return
  ensureFolder(dirname(path))
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  writeFileSync(aside, JSON.stringify({ feed, importedAt, previous, sources }), { flush: true })
  moveIntoPlace(aside, path)
}

/** The header as it would be in a file of its own. */
function withOwnImport<Of extends Header>(folder: string, name: string, header: Of): Of {
  return { ...header, ...readOwnImport(folder, { name, version: header.version }) }
}

/** `undefined` if it is missing, or cannot be read: a list can be used without. */
function readOwnImport(folder: string, of: NamedVersion): OwnImport | undefined {
  try {
    const read = JSON.parse(readFileSync(resolveOwnImportPath(folder, of), 'utf8')) as OwnImport
    const { feed, importedAt, previous, sources } = read
    const isWhole =
      typeof feed === 'string' && Number.isSafeInteger(importedAt) && Array.isArray(sources)
    return isWhole ? { feed, importedAt, previous, sources } : undefined
  } catch {
    return undefined
  }
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
  const shared = await linkToEqualList(folder, name)
  pruneVersions(folder, name, keepVersions, kept)
  return shared ?? version
}

/**
 * Registries sell the same numbers to many accounts: replaces the file by a link to that of another account with the same content, as of
 * the same instant, so that disk and memory have it once. Returns the version of that file. What its header says of the import of the other
 * account is kept for this one beside the versions.
 */
async function linkToEqualList(folder: string, name: string): Promise<string | undefined> {
  const path = resolveListPath(folder, name)
  const { list } = splitListName(name)
  const others = findListNames(folder).names.filter(
    (other) => other !== name && splitListName(other).list === list,
  )
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.new`)
  for (const other of others) {
    const otherPath = resolveListPath(folder, other)
    try {
      if (!mayHaveEqualContent(path, otherPath)) continue
      // The other list may be replaced at any moment, but not what the link is to.
      linkSync(realpathSync(otherPath), aside)
      if (await hasEqualContent(path, aside)) {
        const { version } = readNumberListHeader(aside)
        writeOwnImport(folder, { name, version }, readNumberListHeader(path))
        moveIntoPlace(aside, path)
        return version
      }
      rmSync(aside)
    } catch {
      // Without hard links, for example. The list is in place already, in a file of its own.
      rmSync(aside, { force: true })
    }
  }
  return undefined
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
  const file = `.${basename(resolveListPath(folder, name))}.${version}.${process.pid}.part`
  return join(resolveVersionsFolder(folder, name), file)
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
  for (const version of going) {
    rmSync(resolveVersionPath(folder, name, version), { force: true })
    if (version !== inUse) rmSync(resolveOwnImportPath(folder, { name, version }), { force: true })
  }
}

/** The list in use, then the kept versions, newest first. Files that cannot be read are left out. */
export function findVersions(folder: string, name: string): readonly ListVersionFile[] {
  const path = resolveListPath(folder, name)
  const head = readableHeader(path)
  const current = head && withOwnImport(folder, name, head)
  const kept = findKeptFiles(folder, name).flatMap(({ version, header }) => {
    if (!header || version === current?.version) return []
    const own = withOwnImport(folder, name, header)
    return [{ ...own, path: resolveVersionPath(folder, name, version), inUse: false }]
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
  const { list } = splitListName(name)
  const pattern = new RegExp(`^${list}\\.([0-9a-f]{16})\\${numberListExtension}$`)
  return listFilesIn(resolveVersionsFolder(folder, name)).flatMap((file) => {
    const version = pattern.exec(file)?.[1]
    if (version === undefined) return []
    const header = readableHeader(resolveVersionPath(folder, name, version))
    return [{ version, header: header?.version === version ? header : undefined }]
  })
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
