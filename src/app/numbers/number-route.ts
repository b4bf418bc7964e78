/** The route of what an account has about one number. */
import { numberEndpoint } from '../../api/records/number.js'
import { createRoute, type Route } from '../../api/route.js'
import type { Callgate } from '../callgate.js'
import { openUnloggedSearch } from '../journal/open-search.js'
import type { NumberPageDeps } from './number-page.js'
import { createNumberQuestions } from './number-questions.js'

/** Loads what it needs with the first request. */
export function createNumberRoute(deps: NumberPageDeps): Route {
  return createRoute(numberEndpoint, async (caller, request) => {
    const { readNumber } = await import('./number-page.js')
    return await readNumber(deps, caller, request)
  })
}

/** Of the thread that decides, or of a command. */
export function createNumberPageDeps(callgate: Callgate): NumberPageDeps {
  const { storage, runtime, projects, service, viewOf, factSources } = callgate
  const { dataDir } = callgate.settings
  return {
    getSettings: () => callgate.settings,
    ...{ storage, projects, viewOf, clock: runtime.clock },
    consentHistories: service.consentHistories,
    monitor: service.monitor,
    complaintsFor: (accountId) => factSources.sourcesFor(accountId).complaints,
    search: openUnloggedSearch({ dataDir, storage, clock: runtime.clock }),
    questions: createNumberQuestions(callgate),
  }
}
