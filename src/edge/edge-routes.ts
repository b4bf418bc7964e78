/** The routes for edges, at the center. */
import {
  edgeAccountEndpoint,
  edgeAttemptsEndpoint,
  edgeChangesEndpoint,
  edgeRecordsEndpoint,
} from '../api/edges.js'
import { createRoute, type Route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import type { AttemptCounter } from '../domain/mandate.js'
import type { OpenDatabase } from '../storage/open-database.js'
import type { Center } from './center.js'
import { requireAdministrator, servesNoEdges } from './edge-access.js'
import { countForEdge } from './edge-attempts.js'

interface EdgeRoutesDeps {
  readonly attempts: AttemptCounter
  readonly storage: Pick<OpenDatabase, 'db' | 'traits'>
}

export function edgeRoutes(
  center: Center,
  { attempts: counter, storage }: EdgeRoutesDeps,
): readonly Route[] {
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
    createRoute(
      edgeAttemptsEndpoint,
      bind(async (caller, { of }) => {
        if (!storage.traits.isShared) throw servesNoEdges()
        return await countForEdge(caller, of, { counter, db: storage.db })
      }),
    ),
  ]
}
