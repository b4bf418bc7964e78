/** The route that takes decisions from edges. What stores them is loaded with the first of them. */
import { edgeDecisionsEndpoint } from '../api/edges.js'
import { createRoute, type Route } from '../api/route.js'
import type { ThreadDatabase } from '../storage/open-database.js'
import { requireAdministrator, servesNoEdges } from './edge-access.js'

export function createEdgeDecisionsRoute(storage: Pick<ThreadDatabase, 'db' | 'traits'>): Route {
  return createRoute(edgeDecisionsEndpoint, async (caller, request) => {
    requireAdministrator(caller)
    if (!storage.traits.isShared) throw servesNoEdges()
    const { storeEdgeDecisions } = await import('./edge-decisions.js')
    return await storeEdgeDecisions(storage.db, caller, request)
  })
}
