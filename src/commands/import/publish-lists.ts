/**
 * Puts imported versions of lists in force for all servers of a PostgreSQL database. Without it nothing is added to an
 * import.
 */
import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { getListsFolder } from '../../app/data-folders.js'
import { openListFiles } from '../../app/lists/list-files.js'
import type { Settings } from '../../config/settings.js'
import { readCheckedHeader } from '../../data/files/checked-file.js'
import type { ListFiles } from '../../data/number-list/exchange/list-files.js'
import { obtainList } from '../../data/number-list/exchange/obtain-list.js'
import { numberListFile } from '../../data/number-list/format/number-list-format.js'
import { findVersions } from '../../data/number-list/list-version-files.js'
import { getErrorMessage } from '../../errors.js'
import { sleep, systemClock } from '../../runtime/runtime.js'
import {
  findRetiredLists,
  forgetPublishedList,
  type PublishedList,
  publishList,
  readListsInForce,
  stageList,
  withPublicationLock,
} from '../../storage/cluster/list-versions.js'
import type { Db } from '../../storage/tables.js'
import { withAppContext } from '../account-command.js'
import { CommandFailure, loadCommandSettings } from '../command.js'

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

/** Throws {@link CommandFailure} or `not-available` before anything is changed if the lists cannot be published. */
export async function changeAndPublish<Result>(
  command: Command,
  options: PublicationOptions<Result>,
): Promise<Result> {
  const settings = loadCommandSettings(command)
  if (settings.storage.engine === 'sqlite') return await options.change()
  const files = openListFiles(settings)
  return await withAppContext(command, ({ storage }) =>
    withPublicationLock(storage.db, options.names, async (db) => {
      const all = await readListsInForce(db)
      const inForce = all.filter(({ name }) => options.names.includes(name))
      if (!files) {
        for (const { name } of inForce) throw notShared(name)
        return await options.change()
      }
      for (const list of inForce) await obtain(list, settings, files, options.allowMissing)
      const result = await options.change()
      const stageSeconds = inForce.length === 0 ? 0 : options.stageSeconds
      await publish(options.listVersions(result), { db, settings, files, stageSeconds })
      return result
    }),
  )
}

function notShared(name: string): CommandFailure {
  return new CommandFailure(
    `the list '${name}' is shared by the servers of the database, and lists.files is not set here; ` +
      'set it as on the server that imported the list',
    2,
  )
}

async function obtain(
  list: PublishedList,
  settings: Settings,
  files: ListFiles,
  allowMissing: boolean,
): Promise<void> {
  const { keepVersions } = settings.lists
  const folder = getListsFolder(settings)
  const { signal } = new AbortController()
  const options = { folder, files, keepVersions, clock: systemClock, signal }
  try {
    await obtainList(list, options)
  } catch (cause) {
    if (allowMissing) return
    throw new CommandFailure(
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
}

async function publish(
  imported: readonly ImportedVersion[],
  { db, settings, files, stageSeconds }: PublishTools,
): Promise<void> {
  try {
    const lists = imported.map((one) => describeFile(one, getListsFolder(settings)))
    for (const list of lists) {
      await files.put(list, list.path)
      if (stageSeconds > 0) await stageList(db, list)
    }
    await sleep(stageSeconds * 1_000)
    for (const list of lists) {
      await publishList(db, { ...list, publishedAt: systemClock.now() })
      await removeRetired(db, list.name, settings, files)
    }
  } catch (cause) {
    const what = imported.map(({ name, version }) => `version ${version} of '${name}'`).join(', ')
    throw new CommandFailure(
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
    await files.remove(retired)
    await forgetPublishedList(db, retired)
  }
}

function describeFile(
  { name, version }: ImportedVersion,
  folder: string,
): PublishedList & { readonly path: string } {
  const file = findVersions(folder, name).find((one) => one.version === version)
  if (!file) throw new CommandFailure('it was removed in the meantime')
  const { path, size: entries, asOf } = file
  return {
    name,
    version,
    sha256: readCheckedHeader(path, numberListFile).digest,
    bytes: statSync(path).size,
    entries,
    asOf,
    publishedAt: systemClock.now(),
    publishedBy: hostname(),
    path,
  }
}
