/** Gate endpoint -> method, for the calls that are not on the front door. */
import { readDecision } from '../api/gate.js'
import { type Route, route } from '../api/route.js'
import { AppError } from '../errors.js'
import type { Journal } from './journal.js'

export function gateRoutes(journal: Pick<Journal, 'find'>): readonly Route[] {
  return [
    route(readDecision, async ({ accountId }, { id }) => {
      const found = await journal.find(accountId, id)
      if (found) return found
      throw new AppError('not-found', `id '${id}': no decision of this account has it`)
    }),
  ]
}
