/** Opens the search for decisions, whose reads are logged. */

import type { Route } from '../../api/route.js'
import type { Clock } from '../../domain/time/clock.js'
import type { DecisionSearch } from '../../gate/journal/search/decision-search.js'
import type { RecordSearch } from '../../gate/journal/search/logged-search.js'
import { createSearchRoute } from '../../gate/journal/search/search-route.js'
import { createStreamRoute } from '../../gate/journal/search/stream-route.js'
import type { ThreadDatabase } from '../../storage/open-database.js'

interface ReadDeps {
  readonly dataDir: string
  readonly storage: Pick<ThreadDatabase, 'db' | 'traits'>
  readonly clock: Clock
}

interface SearchDeps extends ReadDeps {
  readonly storage: Pick<ThreadDatabase, 'db' | 'author' | 'retryWhileLocked' | 'traits'>
  /** Where requests come in, if the log of reads cannot tell. */
  readonly path?: string | undefined
}

export function openSearchRoute(deps: SearchDeps): Route {
  return createSearchRoute(openDecisionSearch({ ...deps, path: '/v1/decisions' }))
}

/** What it needs is loaded with the first reader. */
export function openStreamRoute(deps: Omit<SearchDeps, 'path'>): Route {
  const search = openUnloggedSearch(deps)
  const recordRead: RecordSearch = async (caller, read) => {
    const { createReadLog } = await import('../../service/audit/read-log.js')
    await createReadLog(deps.storage, deps.clock)(caller, read)
  }
  return createStreamRoute({ search, recordRead, clock: deps.clock })
}

/** What it needs is loaded with the first search. */
export function openDecisionSearch(deps: SearchDeps): DecisionSearch {
  return openWithFirstSearch(() => openLogged(deps))
}

/** For a caller that logs the read of which the search is a part, or shows no person. */
export function openUnloggedSearch(deps: ReadDeps): DecisionSearch {
  return openWithFirstSearch(() => open(deps))
}

function openWithFirstSearch(load: () => Promise<DecisionSearch>): DecisionSearch {
  let opened: Promise<DecisionSearch> | undefined
  return {
    search: async (request) => {
      opened ??= load()
      return await (await opened).search(request)
    },
  }
}

async function openLogged({ path, ...deps }: SearchDeps): Promise<DecisionSearch> {
  const search = await open(deps)
  const { LoggedSearch } = await import('../../gate/journal/search/logged-search.js')
  const { createReadLog } = await import('../../service/audit/read-log.js')
  return new LoggedSearch(search, createReadLog(deps.storage, deps.clock), path)
}

/** Over PostgreSQL it finds the decisions of all servers. */
async function open({ dataDir, storage, clock }: ReadDeps): Promise<DecisionSearch> {
  if (storage.traits.isShared) {
    const { SharedSearch } = await import('../../gate/journal/projection/shared-search.js')
    return new SharedSearch(storage.db)
  }
  const { IndexSearch } = await import('../../gate/journal/search/index-search.js')
  return new IndexSearch({ dataDir, clock })
}
