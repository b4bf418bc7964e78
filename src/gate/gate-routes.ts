/** Gate endpoint -> method, for the calls that are not on the front door. */
import { readDecision } from '../api/gate.js'
import { requireScopeAllowed } from '../api/key-limits.js'
import { type Route, route } from '../api/route.js'
import { AppError } from '../errors.js'
import type { Journal } from './journal.js'

export function gateRoutes(journal: Pick<Journal, 'find'>): readonly Route[] {
  return [
    route(readDecision, async (caller, { id }) => {
      const found = await journal.find(caller.accountId, id)
      if (found) {
        requireScopeAllowed(caller, found)
        return found
      }
      throw new AppError('not-found', `id '${id}': no decision of this account has it`)
    }),
  ]
}
