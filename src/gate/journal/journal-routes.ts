/** The route that reads a record; the routes that decide are in `http/decision-routes.ts`. */

import { readDecisionEndpoint } from '../../api/gate/decisions.js'
import { createRoute, type Route, requireScopeAllowed } from '../../api/route.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import type { DecisionDocument } from '../decision-document.js'
import type { Journal } from './journal.js'
import type { DecisionStore } from './projection/decision-store.js'

/** `shared` has the decisions of all servers, if there may be several. */
export function journalRoutes(
  journal: Pick<Journal, 'find' | 'index'>,
  shared?: Pick<DecisionStore, 'find'>,
): readonly Route[] {
  return [
    createRoute(readDecisionEndpoint, async (caller, { id }) => {
      const found = await findDecision(journal, shared, { accountId: caller.accountId, id })
      if (found) {
        requireScopeAllowed(caller, found)
        return found
      }
      throw new AppError('not-found', `id '${id}': ${describeMissing(id, journal.index)}`)
    }),
  ]
}

async function findDecision(
  journal: Pick<Journal, 'find'>,
  shared: Pick<DecisionStore, 'find'> | undefined,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<DecisionDocument | undefined> {
  let failure: unknown
  try {
    const own = journal.find(accountId, id)
    if (own !== undefined || shared === undefined) return own
  } catch (cause) {
    if (shared === undefined) throw cause
    failure = cause
  }
  const found = await shared.find(accountId, id)
  if (found === undefined && failure !== undefined) throw failure
  return found
}

/** An id begins with its instant, so that is known even of a decision that was removed. */
function describeMissing(id: string, index: Journal['index']): string {
  const missing = 'this account has no such decision'
  const removedBefore = index?.removedBefore ?? 0
  const madeAt = parseInt(id.slice(0, 9), 36)
  if (!(madeAt < removedBefore)) return missing
  return `${missing}. Decisions from before ${formatInstant(removedBefore)} were removed after journal.keepYears`
}
