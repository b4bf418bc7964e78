/** Serves the files of published lists to other servers, and to edges those that their account may use. */
import { listFileEndpoint } from '../../api/lists/list-file.js'
import { createRoute, type Route } from '../../api/route.js'
import { mainAccountId } from '../../domain/caller.js'
import { requireAdministrator } from '../../edge/edge-access.js'
import { AppError } from '../../errors.js'
import { readListAccess } from '../../service/lists/list-rights.js'
import type { Callgate } from '../callgate.js'

export function createListFileRoute(callgate: Pick<Callgate, 'storage' | 'settings'>): Route {
  return createRoute(listFileEndpoint, async (caller, { sha256, from = 0 }) => {
    requireAdministrator(caller)
    const { storage, settings } = callgate
    const { readPieceOfVersion } = await import('../../data/number-list/exchange/read-piece.js')
    const { locateFile } = await import('./local-files.js')
    const { findListsWithContent } = await import('../../storage/cluster/list-versions.js')
    const { accountId } = caller
    const findAccess = await readListAccess(storage.reads, accountId)
    for (const list of await findListsWithContent(storage.reads, sha256)) {
      if (accountId !== mainAccountId && findAccess(list.name) !== 'use') continue
      const { kept, inUse } = locateFile(list, settings)
      for (const path of [kept, inUse]) {
        const piece = await readPieceOfVersion(path, list, from)
        if (piece) return piece
      }
    }
    throw new AppError('not-found', `this server does not have the list file ${sha256}`)
  })
}
