/**
 * The search over the decisions of all servers, as they are copied to PostgreSQL. No index leads from a number to its decisions: blocks
 * are examined from the newest on, by their terms, and those that may have some are unpacked.
 */
import { type Kysely, sql } from 'kysely'
import type { Instant } from '../../../domain/time/clock.js'
import { edgeOriginMark } from '../../../storage/cluster/edge-origins.js'
import type { Db, Tables } from '../../../storage/tables.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { readHead } from '../../record/read-head.js'
import { readRecord } from '../../record/read-record.js'
import { withOutcome } from '../../record/with-outcome.js'
import type { DecisionSearch, SearchPage, SearchRequest } from '../search/decision-search.js'
import { isSearched } from '../search/searched-fields.js'
import { blockSpanMs, unpackDecisions } from './block-format.js'
import { mayMeet } from './block-terms.js'
import { readIdInstant, toIdPrefix } from './decision-months.js'
import { databaseNow, readRemovedBefore } from './decision-store.js'
import { isVisible, mergeOutcomes, readOutcomes } from './outcome-rows.js'

/** Decisions that are unpacked for an answer, step by step, so that a page of all decisions takes few. */
const unpackedInSteps = [400, 800, 1_600, 3_200]
/** Blocks whose terms are looked at in a step. */
const examinedBlocks = 2_000

/** Greater than all ids. */
const afterAll = '~'

/** Ids, from the first one, included, to the other, excluded. */
interface IdRange {
  readonly start: string
  readonly end: string
}

interface Candidate {
  readonly id: string
  readonly origin: string
  readonly body: Buffer
  /** Of two of one id, the greater one is the later one. */
  readonly rank: number
}

interface Step {
  readonly candidates: readonly Candidate[]
  /** All with greater ids are among the candidates of this step and those before. Empty if there are no more. */
  readonly floor: string
}

export class SharedSearch implements DecisionSearch {
  readonly #db: Db

  constructor(db: Db) {
    this.#db = db
  }

  async search(request: SearchRequest): Promise<SearchPage> {
    const { accountId } = request.caller
    const state = await this.#readState(accountId)
    const { found, floor } = await this.#find(request)
    const page = found.slice(0, request.limit)
    const last = page.at(-1)
    const isCut =
      found.length > page.length ||
      (last !== undefined && page.length === request.limit && floor !== '')
    if (isCut && last) {
      const searchedBackTo = (readIdInstant(last.id) ?? 0) + 1
      return {
        ...state,
        decisions: await this.#toDocuments(accountId, page),
        next: last.id,
        searchedBackTo,
      }
    }
    if (floor === '') return { ...state, decisions: await this.#toDocuments(accountId, page) }
    // Of the millisecond of the floor, not all may be found.
    const searchedBackTo = instantOf(floor) + 1
    const next = toIdPrefix(searchedBackTo).padEnd(29, '0')
    const whole = page.filter(({ id }) => id >= next)
    return { ...state, decisions: await this.#toDocuments(accountId, whole), next, searchedBackTo }
  }

  /** Newest first, and more than the limit if there are. */
  async #find(
    request: SearchRequest,
  ): Promise<{ readonly found: readonly Candidate[]; readonly floor: string }> {
    const range = toRange(request)
    const pending = new Map<string, Candidate>()
    const found: Candidate[] = []
    let floor = topOf(range)
    for (const most of unpackedInSteps) {
      const step = await readBlocks(this.#db, request, { ...range, top: floor, most })
      floor = step.floor
      for (const candidate of step.candidates) keepLatest(pending, candidate)
      found.push(...takeFound(pending, { floor, range, request }))
      if (floor === '' || found.length > request.limit) break
    }
    return { found, floor }
  }

  async #toDocuments(
    accountId: string,
    candidates: readonly Candidate[],
  ): Promise<readonly DecisionDocument[]> {
    if (candidates.length === 0) return []
    const all = await readOutcomes(
      this.#db,
      candidates.map(({ id }) => id),
    )
    return candidates.map(({ id, origin, body }) => {
      const rows = all.filter((row) => row.id === id && isVisible(row.origin, accountId))
      return withOutcome(readRecord('decision', { id, body }), mergeOutcomes(rows, origin))
    })
  }

  /** Read first: what is copied meanwhile does no harm. */
  async #readState(
    accountId: string,
  ): Promise<Pick<SearchPage, 'completeUntil' | 'removedBefore'>> {
    const { rows } = await sql<{ readonly until: Instant }>`
      select coalesce(min(copied_until), ${databaseNow}) as until from journals
      where shipped = 0
      and (origin not like ${`%${edgeOriginMark}%`} or starts_with(origin, ${accountId + edgeOriginMark}))`.execute(
      this.#db,
    )
    const removedBefore = await readRemovedBefore(this.#db)
    return {
      completeUntil: rows[0]?.until ?? 0,
      ...(removedBefore > 0 && { removedBefore }),
    }
  }
}

const instantOf = (id: string): Instant => Number.parseInt(id.slice(0, 9), 36)

function toRange({ filter: { from = 0, to }, before = afterAll }: SearchRequest): IdRange {
  const end = to === undefined ? afterAll : toIdPrefix(Math.max(0, to))
  return { start: toIdPrefix(Math.max(0, from)), end: before < end ? before : end }
}

/** The greatest id that a block with ids of the range may end with. */
function topOf({ end }: IdRange): string {
  if (end === afterAll) return end
  return toIdPrefix((Math.floor(instantOf(end) / blockSpanMs) + 1) * blockSpanMs)
}

interface Reading extends IdRange {
  /** Those that are greater have been read. */
  readonly top: string
  /** Decisions to unpack. */
  readonly most: number
}

interface BlockRow {
  readonly examined: number
  readonly reached: string | null
  /** Whether there are further ones that may have some. */
  readonly has_more: boolean | null
  readonly last_id: string | null
  readonly origin: string
  readonly first_seq: number
  readonly body: Buffer
}

/** A block that amends decisions is read whatever it has: those that it replaces must not be found. */
async function readBlocks(
  db: Kysely<Tables>,
  { caller: { accountId }, filter }: SearchRequest,
  { start, end, top, most }: Reading,
): Promise<Step> {
  const { rows } = await sql<BlockRow>`
    with examined as materialized (
      select last_id, origin, first_seq, decisions,
        case when amends = 1 or ${mayMeet(accountId, filter)} then body end as body
      from decision_blocks where last_id >= ${start} and last_id <= ${top} and first_id < ${end}
      order by last_id desc limit ${examinedBlocks}
    ), matching as (
      select last_id, origin, first_seq, body, sum(decisions) over (order by last_id desc) - decisions as before
      from examined where body is not null
    )
    select scan.*, matching.* from (
      select count(*)::int as examined, min(last_id) as reached,
        (select max(before) from matching) >= ${most} as has_more from examined
    ) as scan left join matching on before < ${most} order by last_id desc`.execute(db)
  const [scan] = rows
  const candidates: Candidate[] = []
  for (const { last_id: lastId, origin, first_seq: rank, body } of rows) {
    if (lastId === null || !isVisible(origin, accountId)) continue
    for (const decision of await unpackDecisions(body))
      candidates.push({ ...decision, origin, rank })
  }
  if (scan?.has_more) return { candidates, floor: rows.at(-1)?.last_id ?? '' }
  return { candidates, floor: scan?.examined === examinedBlocks ? (scan.reached ?? '') : '' }
}

function keepLatest(pending: Map<string, Candidate>, candidate: Candidate): void {
  const known = pending.get(candidate.id)
  if (known === undefined || candidate.rank > known.rank) pending.set(candidate.id, candidate)
}

/** Takes those out that are above the floor, and returns those that are wanted, newest first. */
function takeFound(
  pending: Map<string, Candidate>,
  {
    floor,
    range,
    request,
  }: { readonly floor: string; readonly range: IdRange; readonly request: SearchRequest },
): readonly Candidate[] {
  const found: Candidate[] = []
  for (const [id, candidate] of pending) {
    if (id <= floor) continue
    pending.delete(id)
    if (id < range.start || id >= range.end) continue
    const head = readHead(candidate.body)
    const isWanted = head.accountId === request.caller.accountId && !head.whatIf
    if (isWanted && isSearched(head, request)) found.push(candidate)
  }
  return found.sort((one, other) => (one.id > other.id ? -1 : 1))
}
