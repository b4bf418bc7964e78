/** Serves the files of published lists to other servers. */
import { listFileEndpoint } from '../../api/lists/list-file.js'
import { createRoute, type Route } from '../../api/route.js'
import { requireAdministrator } from '../../edge/edge-access.js'
import { AppError } from '../../errors.js'
import { mainAccountId } from '../app-context.js'
import type { Callgate } from '../callgate.js'
import { getListsFolder } from '../data-folders.js'

export function createListFileRoute(callgate: Pick<Callgate, 'storage' | 'settings'>): Route {
  return createRoute(listFileEndpoint, async (caller, { sha256, from = 0 }) => {
    requireAdministrator(caller)
    if (caller.accountId !== mainAccountId) {
      throw new AppError('forbidden', `list files need a key of account ${mainAccountId}`)
    }
    const { storage, settings } = callgate
    const { readPieceOf } = await import('../../data/number-list/exchange/read-piece.js')
    const { findVersions } = await import('../../data/number-list/list-version-files.js')
    const { findPublishedList } = await import('../../storage/cluster/list-versions.js')
    const list = await findPublishedList(storage.reads, sha256)
    const found =
      list &&
      findVersions(getListsFolder(settings), list.name).find(
        ({ version }) => version === list.version,
      )
    if (!found) throw new AppError('not-found', `this server does not have the list file ${sha256}`)
    return await readPieceOf(found.path, from)
  })
}
