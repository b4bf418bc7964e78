/** Serves the files of published lists to other servers. */
import { listFileEndpoint } from '../../api/lists/list-file.js'
import { createRoute, type Route } from '../../api/route.js'
import { requireAdministrator } from '../../edge/edge-access.js'
import { AppError } from '../../errors.js'
import { mainAccountId } from '../app-context.js'
import type { Callgate } from '../callgate.js'

export function createListFileRoute(callgate: Pick<Callgate, 'storage' | 'settings'>): Route {
  return createRoute(listFileEndpoint, async (caller, { sha256, from = 0 }) => {
    requireAdministrator(caller)
    if (caller.accountId !== mainAccountId) {
      throw new AppError('forbidden', `list files need a key of account ${mainAccountId}`)
    }
    const { storage, settings } = callgate
    const { readPieceOfVersion } = await import('../../data/number-list/exchange/read-piece.js')
    const { locateFile } = await import('./local-files.js')
    const { findPublishedList } = await import('../../storage/cluster/list-versions.js')
    const list = await findPublishedList(storage.reads, sha256)
    if (list) {
      const { kept, inUse } = locateFile(list, settings)
      for (const path of [kept, inUse]) {
        const piece = await readPieceOfVersion(path, list, from)
        if (piece) return piece
      }
    }
    throw new AppError('not-found', `this server does not have the list file ${sha256}`)
  })
}
