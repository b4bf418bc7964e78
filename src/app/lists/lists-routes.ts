/** The routes of the imported data. */
import { listsEndpoint, rollbackEndpoint } from '../../api/lists/lists.js'
import { createRoute, type Route } from '../../api/route.js'
import type { ListsAnswerDeps } from './lists-answer.js'

/** They load what they need with the first request. */
export function createListsRoutes(deps: ListsAnswerDeps): readonly Route[] {
  return [
    createRoute(listsEndpoint, async (caller) => {
      const { readLists } = await import('./lists-answer.js')
      return await readLists(deps, caller)
    }),
    createRoute(rollbackEndpoint, async (caller, request) => {
      const { rollBack } = await import('./list-rollbacks.js')
      return await rollBack(deps, caller, request)
    }),
  ]
}
