/**
 * The files of the lists and of their earlier versions. Lists of account main are in the folder of the lists, those of
 * others in the folder of the account there. Earlier versions are in the subfolder `versions` of each. A version is a hard link to the
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
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { mainAccountId } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorCode } from '../../errors.js'
import { ensureFolder, moveIntoPlace, syncFile, syncFolder } from '../../runtime/folders.js'
import { removeLeftovers } from '../files/leftover-files.js'
import { hasEqualContent } from './format/equal-content.js'
import {
  type NumberListHeader,
  numberListExtension,
  readNumberListHeader,
} from './format/number-list-format.js'
import { splitListName, toAccountListName } from './list-names.js'

export interface ListVersionFile extends NumberListHeader {
  readonly version: string
  readonly path: string
  /** Whether this is the list in use; otherwise it is a kept version. */
  readonly inUse: boolean
}

const accountsFolder = 'accounts'

/** The folder of an account's lists; `folder` is that of all lists. */
function resolveAccountFolder(folder: string, accountId: string): string {
  return accountId === mainAccountId ? folder : join(folder, accountsFolder, accountId)
}

/** Of the account that the list is of; `name` is the one among the lists of all accounts. */
export function resolveListFolder(folder: string, name: string): string {
  return resolveAccountFolder(folder, splitListName(name).owner)
}

/** The path of the list in use. */
export function resolveListPath(folder: string, name: string): string {
  return join(resolveListFolder(folder, name), toFileName(name))
}

const toFileName = (name: string) => `${splitListName(name).list}${numberListExtension}`

/** The folder of the earlier versions. */
function resolveVersionsFolder(folder: string, name: string): string {
  return join(resolveListFolder(folder, name), 'versions')
}

/** The path of an earlier version, if it is kept. */
export function resolveVersionPath(folder: string, name: string, version: string): string {
  const { list } = splitListName(name)
  return join(resolveVersionsFolder(folder, name), `${list}.${version}${numberListExtension}`)
}

/** The names of all lists with a file, among those of all accounts: `us-dnc`, `acme/us-dnc`. */
export function findListNames(folder: string): readonly string[] {
  return [mainAccountId, ...listFiles(join(folder, accountsFolder))].flatMap((accountId) =>
    toListNames(accountId, listFiles(resolveAccountFolder(folder, accountId))),
  )
}

/** As {@link findListNames}, without waiting for the disk. */
export async function findListNamesInBackground(folder: string): Promise<readonly string[]> {
  const names: string[] = []
  const accounts = await listFilesInBackground(join(folder, accountsFolder))
  for (const accountId of [mainAccountId, ...accounts]) {
    const files = await listFilesInBackground(resolveAccountFolder(folder, accountId))
    names.push(...toListNames(accountId, files))
  }
  return names
}

function toListNames(accountId: string, files: readonly string[]): readonly string[] {
  return files
    .filter((file) => file.endsWith(numberListExtension) && !file.startsWith('.'))
    .map((file) => toAccountListName(accountId, file.slice(0, -numberListExtension.length)))
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
  removeLeftovers(join(resolveVersionsFolder(folder, name), toFileName(name)), now)
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
 * the same instant, so that disk and memory have it once. Returns the version of that file, whose header names the files it was imported from.
 */
async function linkToEqualList(folder: string, name: string): Promise<string | undefined> {
  const path = resolveListPath(folder, name)
  const { list } = splitListName(name)
  const others = findListNames(folder).filter(
    (other) => other !== name && splitListName(other).list === list,
  )
  for (const other of others) {
    const otherPath = resolveListPath(folder, other)
    if (!(await hasEqualContent(path, otherPath))) continue
    const aside = join(dirname(path), `.${basename(path)}.${process.pid}.new`)
    try {
      linkSync(realpathSync(otherPath), aside)
      moveIntoPlace(aside, path)
    } catch (cause) {
      rmSync(aside, { force: true })
      // Without hard links, each has a file of its own.
      if (!linkFailures.has(`${getErrorCode(cause)}`)) throw cause
      return undefined
    }
    return readNumberListHeader(path).version
  }
  return undefined
}

const linkFailures: ReadonlySet<string> = new Set(['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'ENOSYS'])

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
  const file = `.${toFileName(name)}.${version}.${process.pid}.part`
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
  const { list } = splitListName(name)
  const pattern = new RegExp(`^${list}\\.([0-9a-f]{16})\\${numberListExtension}$`)
  return listFiles(resolveVersionsFolder(folder, name)).flatMap((file) => {
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
    return requireMissing(cause)
  }
}

async function listFilesInBackground(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (cause) {
    return requireMissing(cause)
  }
}

/** A stray file among the folders of accounts has no lists. */
function requireMissing(cause: unknown): [] {
  const code = getErrorCode(cause)
  if (code === 'ENOENT' || code === 'ENOTDIR') return []
  throw cause
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
