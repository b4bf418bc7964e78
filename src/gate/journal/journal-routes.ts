/** The route that reads a record; the routes that decide are in `http/decision-routes.ts`. */

import { readDecisionEndpoint } from '../../api/gate/decisions.js'
import { createRoute, type Route, requireScopeAllowed } from '../../api/route.js'
import { AppError } from '../../errors.js'
import type { Journal } from './journal.js'

export function journalRoutes(journal: Pick<Journal, 'find'>): readonly Route[] {
  return [
    createRoute(readDecisionEndpoint, async (caller, { id }) => {
      const found = await journal.find(caller.accountId, id)
      if (found) {
        requireScopeAllowed(caller, found)
        return found
      }
      throw new AppError('not-found', `id '${id}': this account has no such decision`)
    }),
  ]
}
