/** The route that lists decisions. */
import { maxCsvRows } from '../../../api/csv.js'
import {
  type DecisionExport,
  type DecisionSearchBody,
  type DecisionSearchRequest,
  searchDecisionsEndpoint,
} from '../../../api/gate/decision-search.js'
import { createRoute, type Route } from '../../../api/route.js'
import { type Caller, parseProjectCode } from '../../../domain/caller.js'
import { formatInstant } from '../../../domain/time/dates.js'
import { waitForNextTurn } from '../../../runtime/yield-to-event-loop.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { toReply } from '../../record/describe-decision.js'
import type { DecisionSearch, SearchPage, SearchRequest } from './decision-search.js'
import { decodeCursor, encodeCursor } from './search-cursor.js'

/** Of one answer as CSV. With few decisions on each, it ends after some ten million rows of the index. */
const maxCsvPages = 2_000
const decisionsPerCsvPage = 200

export function createSearchRoute(search: DecisionSearch): Route {
  return createRoute(searchDecisionsEndpoint, async (caller, asked) => {
    const request = toSearchRequest(caller, asked)
    if (asked.output === 'csv') return await exportDecisions(search, request)
    const page = await search.search(request)
    return toBody(page, request)
  })
}

function toSearchRequest(caller: Caller, { filter, cursor, limit }: DecisionSearchRequest) {
  const { projectId = '' } = filter
  const normalized = { ...filter, projectId: parseProjectCode(caller.accountId, projectId) }
  const search = { caller, filter: normalized, limit }
  return { ...search, before: cursor === undefined ? undefined : decodeCursor(cursor, search) }
}

function toBody(page: SearchPage, request: SearchRequest): DecisionSearchBody {
  const { decisions, next, searchedBackTo, completeUntil, removedBefore } = page
  return {
    decisions: toBodies(decisions),
    ...(next !== undefined && { nextCursor: encodeCursor(next, request) }),
    ...(searchedBackTo !== undefined && { searchedBackTo: formatInstant(searchedBackTo) }),
    completeUntil: formatInstant(completeUntil),
    ...(removedBefore !== undefined && { removedBefore: formatInstant(removedBefore) }),
  }
}

const toBodies = (decisions: readonly DecisionDocument[]) =>
  decisions.map(toReply) as DecisionSearchBody['decisions']

/** Rejects for what is wrong with the first page: later, an error can only cut the answer short. */
async function exportDecisions(
  search: DecisionSearch,
  asked: SearchRequest,
): Promise<DecisionExport> {
  const request = { ...asked, limit: decisionsPerCsvPage }
  let page = await search.search(request)
  let count = page.decisions.length
  async function* readPages() {
    yield toBodies(page.decisions)
    for (let pages = 1; pages < maxCsvPages && page.next !== undefined; pages += 1) {
      const limit = Math.min(decisionsPerCsvPage, maxCsvRows - count)
      if (limit === 0) return
      // Other requests are answered in between.
      await waitForNextTurn()
      page = await search.search({ ...request, before: page.next, limit })
      count += page.decisions.length
      yield toBodies(page.decisions)
    }
  }
  return {
    pages: readPages(),
    getNextCursor: () => (page.next === undefined ? undefined : encodeCursor(page.next, request)),
  }
}
