/** The route of the state of this server. */
import { statusEndpoint } from '../../api/accounts/status.js'
import { createRoute, type Route } from '../../api/route.js'
import type { StatusAnswerDeps } from './status-answer.js'

/** Loads what it needs with the first request. */
export function createStatusRoute(deps: StatusAnswerDeps): Route {
  return createRoute(statusEndpoint, async (caller) => {
    const { readStatus } = await import('./status-answer.js')
    return await readStatus(deps, caller)
  })
}
