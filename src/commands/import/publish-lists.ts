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
import { systemClock } from '../../runtime/runtime.js'
import {
  findRetiredLists,
  forgetPublishedList,
  type PublishedList,
  publishList,
  readListsInForce,
  withPublicationLock,
} from '../../storage/list-versions.js'
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
      for (const version of options.listVersions(result)) {
        await publish(db, version, settings, files)
      }
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
  const options = { folder: getListsFolder(settings), files, keepVersions, clock: systemClock }
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

async function publish(
  db: Db,
  imported: ImportedVersion,
  settings: Settings,
  files: ListFiles,
): Promise<void> {
  const { name, version } = imported
  try {
    const list = describeFile(imported, getListsFolder(settings))
    await files.put(list, list.path)
    await publishList(db, list)
    for (const retired of await findRetiredLists(db, name, settings.lists.keepVersions)) {
      await files.remove(retired)
      await forgetPublishedList(db, retired)
    }
  } catch (cause) {
    throw new CommandFailure(
      `version ${version} of '${name}' is in the folder of this server, but could not be published: ` +
        `${getErrorMessage(cause)}; if it is not in force (callgate lists), repeat the command`,
    )
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
