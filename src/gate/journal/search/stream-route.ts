/** The route that streams decisions as they are recorded. It looks for new ones with the search, so no decision waits for a reader. */
import {
  type DecisionStreamRequest,
  maxToldDecisions,
  streamDecisionsEndpoint,
} from '../../../api/gate/decision-stream.js'
import { createRoute, type Route } from '../../../api/route.js'
import { type Caller, parseProjectCode } from '../../../domain/caller.js'
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { AppError } from '../../../errors.js'
import { monotonicSeconds, sleep } from '../../../runtime/runtime.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { toReply } from '../../record/describe-decision.js'
import { readIdInstant, toIdPrefix } from '../projection/decision-months.js'
import type { DecisionSearch, SearchPage, SearchRequest } from './decision-search.js'
import type { RecordSearch } from './logged-search.js'

export interface StreamRouteDeps {
  /** Does not record reads. */
  readonly search: DecisionSearch
  readonly recordRead: RecordSearch
  readonly clock: Pick<Clock, 'now'>
}

const lookEveryMs = 1_000
const commentEverySeconds = 15
/** After which a browser comes again, in milliseconds. */
const retryMs = 3_000
/** Of the decisions of a second. */
const maxFound = 200
/** An id begins with the instant of the verdict, and is found once it is written: so long after it, and a long write more. */
const overlapMs = 2_000
/** While some server has not copied its decisions, those from before are not waited for. */
const longestLookBackMs = 30_000
const longestResumeMs = 15 * 60_000

export function createStreamRoute({ search, recordRead, clock }: StreamRouteDeps): Route {
  return createRoute(streamDecisionsEndpoint, async (caller, asked) => {
    const news = new NewDecisions({ search, clock }, toSearch(caller, asked), asked.after)
    // Of those there are already, a reader that begins is told nothing.
    const first = await news.take()
    await recordRead(caller, {
      path: streamDecisionsEndpoint.paths[0],
      what: 'decisions.streamed',
      subject: { kind: 'decisions', id: '' },
      rows: first.told.length,
    })
    return { parts: writeEvents(news, { first, seconds: asked.seconds }) }
  })
}

function toSearch(
  caller: Caller,
  { project = '', decision, reason, kind }: DecisionStreamRequest,
): Pick<SearchRequest, 'caller' | 'filter'> {
  const projectId = parseProjectCode(caller.accountId, project)
  return { caller, filter: { decision, reason, callKind: kind, projectId } }
}

interface News {
  /** Oldest first. */
  readonly told: readonly DecisionDocument[]
  readonly skipped: number
  /** Whether more were skipped than are counted. */
  readonly hasMore: boolean
}

class NewDecisions {
  readonly #deps: Pick<StreamRouteDeps, 'search' | 'clock'>
  readonly #request: Pick<SearchRequest, 'caller' | 'filter'>
  /** Ids from {@link #from} on that were told or skipped. */
  readonly #known = new Set<string>()
  readonly #after: string | undefined
  #from: Instant
  #isFirst = true

  constructor(
    deps: Pick<StreamRouteDeps, 'search' | 'clock'>,
    request: Pick<SearchRequest, 'caller' | 'filter'>,
    after: string | undefined,
  ) {
    this.#deps = deps
    this.#request = request
    this.#after = after
    const now = deps.clock.now()
    const resumed = after === undefined ? undefined : readIdInstant(after)
    this.#from = Math.max(resumed ?? now - longestLookBackMs, now - longestResumeMs)
  }

  async take(): Promise<News> {
    const now = this.#deps.clock.now()
    // A clock may have gone back.
    const { decisions, next, completeUntil } = await this.#find(Math.min(this.#from, now))
    const oldest = decisions.at(-1)
    const hasMore = next !== undefined && !(oldest && this.#known.has(oldest.id))
    const isBeginning = this.#isFirst && this.#after === undefined
    const fresh = decisions.filter(({ id }) => !this.#known.has(id) && !this.#isFromBefore(id))
    for (const { id } of decisions) this.#known.add(id)
    this.#isFirst = false
    this.#from = Math.max(Math.min(completeUntil, now) - overlapMs, now - longestLookBackMs)
    const start = toIdPrefix(Math.max(0, this.#from))
    for (const id of this.#known) if (id < start) this.#known.delete(id)
    if (isBeginning) return { told: [], skipped: 0, hasMore: false }
    const told = fresh.slice(0, maxToldDecisions)
    return { told: told.reverse(), skipped: fresh.length - told.length, hasMore }
  }

  /** A page ends early on a busy machine; what it left out would be told later as new, or never. */
  async #find(from: Instant): Promise<SearchPage> {
    const { caller, filter } = this.#request
    const findBefore = (before: string | undefined, limit: number) =>
      this.#deps.search.search({ caller, limit, before, filter: { ...filter, from } })
    const first = await findBefore(undefined, maxFound)
    const decisions = [...first.decisions]
    let { next } = first
    while (next !== undefined && decisions.length < maxFound) {
      const page = await findBefore(next, maxFound - decisions.length)
      decisions.push(...page.decisions)
      next = page.next
    }
    return { decisions, next, completeUntil: first.completeUntil }
  }

  #isFromBefore(id: string): boolean {
    return this.#isFirst && this.#after !== undefined && id <= this.#after
  }
}

async function* writeEvents(
  news: NewDecisions,
  {
    first,
    seconds = Number.POSITIVE_INFINITY,
  }: { readonly first: News; readonly seconds?: number | undefined },
): AsyncGenerator<string> {
  const until = monotonicSeconds() + seconds
  let toldAt = monotonicSeconds()
  let lastId = ''
  const toText = ({ told, skipped, hasMore }: News) => {
    // A reader goes on after the greatest id it has seen.
    for (const { id } of told) if (id > lastId) lastId = id
    const events = told.map((decision) => formatEvent('decision', toBrief(decision), lastId))
    if (skipped > 0 || hasMore)
      events.push(formatEvent('skipped', { count: skipped, hasMore }, lastId))
    return events.join('')
  }
  yield `retry: ${retryMs}\n\n${toText(first)}`
  while (monotonicSeconds() < until) {
    await sleep(lookEveryMs)
    let text = toText(await takeOrNothing(news))
    const now = monotonicSeconds()
    if (text === '' && now - toldAt >= commentEverySeconds) text = ': nothing new\n\n'
    if (text !== '') toldAt = now
    // Also an empty one, since a reader that has gone is told of between two parts.
    yield text
  }
}

/** While the index is being made, nothing can be told, and the reader stays. */
async function takeOrNothing(news: NewDecisions): Promise<News> {
  try {
    return await news.take()
  } catch (cause) {
    if (cause instanceof AppError && cause.kind === 'not-available') return nothing
    throw cause
  }
}

const nothing: News = { told: [], skipped: 0, hasMore: false }

function formatEvent(name: string, data: object, id: string): string {
  return `event: ${name}\n${id === '' ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}

function toBrief(decision: DecisionDocument) {
  const { id, decidedAt, number, reason, message, callKind, projectId, via } = toReply(decision)
  const { decision: verdict } = decision
  return { id, decidedAt, decision: verdict, number, reason, message, callKind, projectId, via }
}
