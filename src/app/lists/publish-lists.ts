/**
 * Puts imported versions of lists and numbering files in force for all servers of a PostgreSQL database. Without it nothing is added to an
 * import.
 */
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Settings } from '../../config/settings.js'
import { readCheckedHeader } from '../../data/files/checked-file.js'
import type { ListFiles } from '../../data/number-list/exchange/list-files.js'
import { obtainList } from '../../data/number-list/exchange/obtain-list.js'
import { hasVersion } from '../../data/number-list/exchange/read-piece.js'
import { numberListFile, toVersion } from '../../data/number-list/format/number-list-format.js'
import { findVersions } from '../../data/number-list/list-version-files.js'
import { isNumberingFileName, keepImportedFile } from '../../data/numbering/published-numbering.js'
import { AppError, getErrorMessage } from '../../errors.js'
import { sleep, systemClock } from '../../runtime/runtime.js'
import {
  findListsWithContent,
  findRetiredLists,
  forgetPublishedList,
  type PublishedList,
  publishLists,
  readListsInForce,
  stageLists,
  withdrawStagedLists,
  withPublicationLock,
} from '../../storage/cluster/list-versions.js'
import type { ThreadDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { getListsFolder, getNumberingFolder } from '../data-folders.js'
import { openListFiles } from './list-files.js'
import { locateFile } from './local-files.js'

interface ImportedVersion {
  readonly name: string
  readonly version: string
}

export interface PublicationOptions<Result> {
  /** Of the lists that `change` replaces. */
  readonly names: readonly string[]
  /** Goes on although the versions in force cannot be fetched, to compare with or to change. */
  readonly allowMissing: boolean
  /** How long other servers can fetch a version before it is in force. */
  readonly stageSeconds: number
  /** Replaces the lists in the folder. */
  readonly change: () => Promise<Result>
  readonly listVersions: (result: Result) => readonly ImportedVersion[]
}

/** Throws `conflict` or `not-available` before anything is changed if the lists cannot be published. */
export async function changeAndPublish<Result>(
  settings: Settings,
  storage: Pick<ThreadDatabase, 'db'>,
  options: PublicationOptions<Result>,
): Promise<Result> {
  const files = openListFiles(settings)
  return await withPublicationLock(storage.db, options.names, async (db) => {
    const all = await readListsInForce(db)
    const inForce = all.filter(({ name }) => options.names.includes(name))
    if (!files) {
      for (const { name } of inForce) throw notShared(name)
      return await options.change()
    }
    for (const one of await withdrawStagedLists(db, options.names)) {
      await removeFile(db, one, files)
    }
    for (const list of inForce) await obtain(list, settings, files, options.allowMissing)
    const result = await options.change()
    const stageSeconds = inForce.length === 0 ? 0 : options.stageSeconds
    await publish(options.listVersions(result), { db, settings, files, stageSeconds, inForce })
    return result
  })
}

function notShared(name: string): AppError {
  return new AppError(
    'conflict',
    `'${name}' is shared by the servers of the database, and lists.files is not set here; ` +
      'set it as on the server that imported it',
  )
}

async function obtain(
  list: PublishedList,
  settings: Settings,
  files: ListFiles,
  allowMissing: boolean,
): Promise<void> {
  const { signal } = new AbortController()
  try {
    await obtainList(list, { local: locateFile(list, settings), files, signal })
  } catch (cause) {
    if (allowMissing) return
    throw new AppError(
      'not-available',
      `version ${list.version} of '${list.name}' is in force and cannot be fetched to compare with: ` +
        `${getErrorMessage(cause)}; if no server has it any more, import a full list with --allow-older`,
    )
  }
}

interface PublishTools {
  readonly db: Db
  readonly settings: Settings
  readonly files: ListFiles
  readonly stageSeconds: number
  /** What the imported versions replace. */
  readonly inForce: readonly PublishedList[]
}

async function publish(
  imported: readonly ImportedVersion[],
  { db, settings, files, stageSeconds, inForce }: PublishTools,
): Promise<void> {
  try {
    const lists: ListToPublish[] = []
    for (const one of imported) lists.push(await describeFile(one, settings))
    for (const list of lists) await files.put(list, list.path)
    // The same content again has the same version, which is in force.
    const isNew = ({ name, version }: PublishedList) =>
      !inForce.some((one) => one.name === name && one.version === version)
    if (stageSeconds > 0 && lists.some(isNew)) {
      await restoreNumbering(inForce, settings)
      await stageLists(db, lists)
      await sleep(stageSeconds * 1_000)
    }
    const publishedAt = systemClock.now()
    await publishLists(
      db,
      lists.map((list) => ({ ...list, publishedAt })),
    )
    for (const list of lists) {
      if (isNumberingFileName(list.name)) await locateFile(list, settings).use()
      await removeRetired(db, list.name, settings, files)
    }
  } catch (cause) {
    const what = imported.map(({ name, version }) => `version ${version} of '${name}'`).join(', ')
    throw new AppError(
      'not-available',
      `${what} is in the folder of this server, but could not be published: ` +
        `${getErrorMessage(cause)}; if it is not in force (callgate lists), repeat the command`,
    )
  }
}

async function removeRetired(
  db: Db,
  name: string,
  settings: Settings,
  files: ListFiles,
): Promise<void> {
  for (const retired of await findRetiredLists(db, name, settings.lists.keepVersions)) {
    await removeFile(db, retired, files)
    await forgetPublishedList(db, retired)
  }
}

/** Unless it is the file of a list of another account, too. */
async function removeFile(db: Db, list: PublishedList, files: ListFiles): Promise<void> {
  const all = await findListsWithContent(db, list.sha256)
  if (all.every(({ name }) => name === list.name)) await files.remove(list)
}

/**
 * Until the imported files are in force, threads and servers that start read those that are. A list waits in its place
 * instead, since only the main thread reads it.
 */
async function restoreNumbering(
  inForce: readonly PublishedList[],
  settings: Settings,
): Promise<void> {
  for (const list of inForce.filter(({ name }) => isNumberingFileName(name))) {
    const local = locateFile(list, settings)
    if (await hasVersion(local.kept, list)) await local.use()
  }
}

interface ListToPublish extends PublishedList {
  readonly path: string
}

async function describeFile(
  { name, version }: ImportedVersion,
  settings: Settings,
): Promise<ListToPublish> {
  const { keepVersions } = settings.lists
  const found = isNumberingFileName(name)
    ? await keepImportedFile({
        folder: getNumberingFolder(settings),
        name,
        version,
        keepVersions,
      })
    : findImportedList(getListsFolder(settings), { name, version })
  if (toVersion(found.sha256) !== version) throw replacedMeanwhile()
  const bytes = (await stat(found.path)).size
  const publishedAt = systemClock.now()
  return { ...found, name, version, bytes, publishedAt, publishedBy: hostname() }
}

function findImportedList(folder: string, { name, version }: ImportedVersion) {
  const file = findVersions(folder, name).find((one) => one.version === version)
  if (!file) throw replacedMeanwhile()
  const { path, size: entries, asOf } = file
  return { path, sha256: readCheckedHeader(path, numberListFile).digest, entries, asOf }
}

const replacedMeanwhile = () =>
  new AppError('conflict', 'it was replaced or removed in the meantime')
