/** The routes for edges, at the center. */
import { edgeAccountEndpoint, edgeChangesEndpoint, edgeRecordsEndpoint } from '../api/edges.js'
import { createRoute, type Route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import type { Center } from './center.js'
import { requireAdministrator } from './edge-access.js'

export function edgeRoutes(center: Center): readonly Route[] {
  const bind =
    <Request, Response>(answer: (caller: Caller, request: Request) => Promise<Response>) =>
    (caller: Caller, request: Request) => {
      requireAdministrator(caller)
      return answer(caller, request)
    }
  return [
    createRoute(
      edgeAccountEndpoint,
      bind((caller) => center.readAccount(caller)),
    ),
    createRoute(
      edgeRecordsEndpoint,
      bind((caller, request) => center.readRecords(caller, request)),
    ),
    createRoute(
      edgeChangesEndpoint,
      bind((caller, request) => center.readChanges(caller, request)),
    ),
  ]
}
