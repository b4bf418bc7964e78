/** Commands that change lists put the new versions in force for all servers of a PostgreSQL database. */
import type { Command } from 'commander'
import type { PublicationOptions } from '../../app/lists/publish-lists.js'
import { isNumberingFileName } from '../../data/numbering/published-numbering.js'
import { withAppContext } from '../account-command.js'
import { loadCommandSettings } from '../command.js'
import type { ImportRequest } from './import-feed.js'
import type { ImportOptions } from './import-options.js'

/** A dry run replaces nothing. */
export async function publishImport<Result>(
  { command, options, settings }: ImportRequest<ImportOptions>,
  names: readonly string[],
  work: Pick<PublicationOptions<Result>, 'change' | 'listVersions'>,
): Promise<Result> {
  if (options.dryRun) return await work.change()
  // A numbering file is always imported whole, so there is nothing to add it to.
  const allowMissing = options.allowOlder === true || names.every(isNumberingFileName)
  const { stageSeconds } = settings.lists.files
  return await changeAndPublish(command, { ...work, names, allowMissing, stageSeconds })
}

/** Without such a database nothing is added to the change. */
export async function changeAndPublish<Result>(
  command: Command,
  options: PublicationOptions<Result>,
): Promise<Result> {
  const settings = loadCommandSettings(command)
  if (settings.storage.engine === 'sqlite') return await options.change()
  const publisher = await import('../../app/lists/publish-lists.js')
  return await withAppContext(command, ({ storage }) =>
    publisher.changeAndPublish(settings, storage, options),
  )
}
