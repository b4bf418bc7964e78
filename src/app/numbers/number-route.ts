/** The route of what an account has about one number. */
import { numberEndpoint } from '../../api/records/number.js'
import { createRoute, type Route } from '../../api/route.js'
import type { NumberPageDeps } from './number-page.js'

/** Loads what it needs with the first request. */
export function createNumberRoute(deps: NumberPageDeps): Route {
  return createRoute(numberEndpoint, async (caller, request) => {
    const { readNumber } = await import('./number-page.js')
    return await readNumber(deps, caller, request)
  })
}
