/** The route that takes decisions from edges. What stores them is loaded with the first of them. */
import { edgeDecisionsEndpoint } from '../api/edges.js'
import { createRoute, type Route } from '../api/route.js'
import type { ThreadDatabase } from '../storage/open-database.js'
import { requireAdministrator, servesNoEdges } from './edge-access.js'
import type { EdgeDecisionStore } from './edge-decisions.js'

/** The folder is that of this server's journal, which keeps the calling rules of edges. */
export function createEdgeDecisionsRoute(
  storage: Pick<ThreadDatabase, 'db' | 'traits'>,
  journalFolder: string,
): Route {
  let opened: Promise<EdgeDecisionStore> | undefined
  return createRoute(edgeDecisionsEndpoint, async (caller, request) => {
    requireAdministrator(caller)
    if (!storage.traits.isShared) throw servesNoEdges()
    opened ??= import('./edge-decisions.js').then(
      (module) => new module.EdgeDecisionStore(storage.db, journalFolder),
    )
    return await (await opened).store(caller, request)
  })
}
