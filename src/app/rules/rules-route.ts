/** The route of the calling rules by region and day. */
import { rulesEndpoint } from '../../api/calling-hours/rules.js'
import { createRoute, type Route } from '../../api/route.js'
import type { RulesAnswerDeps } from './rules-answer.js'

/** Loads what it needs with the first request. */
export function createRulesRoute(deps: RulesAnswerDeps): Route {
  return createRoute(rulesEndpoint, async (caller, request) => {
    const { answerRules } = await import('./rules-answer.js')
    return answerRules(deps, caller, request)
  })
}
