/** The route that reads a record; the routes that decide are in `http/decision-routes.ts`. */

import { readDecisionEndpoint } from '../../api/gate/decisions.js'
import { createRoute, type Route, requireScopeAllowed } from '../../api/route.js'
import type { CallOutcome } from '../../domain/call-outcome.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import type { DecisionDocument } from '../decision-document.js'
import type { Journal } from './journal.js'
import type { DecisionStore } from './projection/decision-store.js'

type SharedDecisions = Pick<DecisionStore, 'find' | 'findNotes'>

/** `shared` has the decisions of all servers, if there may be several. */
export function journalRoutes(
  journal: Pick<Journal, 'find' | 'index' | 'origin'>,
  shared?: SharedDecisions,
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
  journal: Pick<Journal, 'find' | 'origin'>,
  shared: SharedDecisions | undefined,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<DecisionDocument | undefined> {
  let failure: unknown
  try {
    const own = journal.find(accountId, id)
    if (shared === undefined) return own
    if (own) return journal.find(accountId, id, await findNotes(shared, journal, { accountId, id }))
  } catch (cause) {
    if (shared === undefined) throw cause
    failure = cause
  }
  const found = await shared.find(accountId, id)
  if (found === undefined && failure !== undefined) throw failure
  return found
}

/** What other servers have noted about the call; nothing while the database does not answer. */
async function findNotes(
  shared: SharedDecisions,
  { origin }: Pick<Journal, 'origin'>,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): Promise<Partial<CallOutcome>> {
  try {
    return await shared.findNotes(accountId, id, origin)
  } catch (cause) {
    if (cause instanceof AppError && cause.kind === 'not-available') return {}
    throw cause
  }
}

/** An id begins with its instant, so that is known even of a decision that was removed. */
function describeMissing(id: string, index: Journal['index']): string {
  const missing = 'this account has no such decision'
  const removedBefore = index?.removedBefore ?? 0
  const madeAt = parseInt(id.slice(0, 9), 36)
  if (!(madeAt < removedBefore)) return missing
  return `${missing}. Decisions from before ${formatInstant(removedBefore)} were removed after journal.keepYears`
}
