/** Reads the decisions of a time from PostgreSQL, of all servers. */
import type { CallOutcome } from '../../../domain/call-outcome.js'
import type { Instant } from '../../../domain/time/clock.js'
import type { Db, RecordedOutcomeRow } from '../../../storage/tables.js'
import { readHead } from '../../record/read-head.js'
import type { TimeRange } from '../recorded-decisions.js'
import { blockSpanMs, unpackDecisions } from './block-format.js'
import { readIdInstant, toIdPrefix } from './decision-months.js'
import { isVisible, mergeOutcomes, readOutcomes } from './outcome-rows.js'

/** A decision, as it was recorded last. */
export interface StoredDecision {
  /** JSON. */
  readonly body: string
  readonly outcome: Partial<CallOutcome>
}

interface FoundDecision {
  readonly origin: string
  readonly body: Buffer
}

/** Of so many spans of blocks, which are in memory at once; no block is of two. */
const windowMs = 6 * blockSpanMs

/** In the order of their ids, with what is known of their calls. Locks nothing while they are worked on. */
export async function* readRange(
  db: Db,
  { since, until }: TimeRange,
): AsyncGenerator<StoredDecision> {
  for (let from: Instant | undefined = since; from !== undefined; ) {
    const found = await findNext(db, from)
    if (found === undefined || found >= until) return
    const end = (Math.floor(found / windowMs) + 1) * windowMs
    yield* readWindow(db, { since: Math.max(since, found), until: Math.min(until, end) })
    from = end
  }
}

/** The instant of the first id from an instant on, or one before it in the same block. */
async function findNext(db: Db, from: Instant): Promise<Instant | undefined> {
  const { last } = await db
    .selectFrom('decision_blocks')
    .select((row) => row.fn.min<string | null>('last_id').as('last'))
    .where('last_id', '>=', toIdPrefix(from))
    .executeTakeFirstOrThrow()
  const at = readIdInstant(last ?? '')
  return at === undefined ? undefined : Math.max(from, at - (at % blockSpanMs))
}

async function* readWindow(db: Db, { since, until }: TimeRange): AsyncGenerator<StoredDecision> {
  const [first, end] = [toIdPrefix(since), toIdPrefix(until)]
  const spanEnd = toIdPrefix(Math.ceil(until / blockSpanMs) * blockSpanMs)
  const found = new Map<string, FoundDecision>()
  const add = (id: string, { origin, body }: FoundDecision) => {
    if (id < first || id >= end || !isVisible(origin, readHead(body).accountId)) return
    found.set(id, { origin, body })
  }
  const blocks = await db
    .selectFrom('decision_blocks')
    .select(['origin', 'body'])
    .where('last_id', '>=', first)
    .where('last_id', '<', spanEnd)
    // A later one of the same journal has the amendments.
    .orderBy('first_seq')
    .execute()
  for (const { origin, body } of blocks) {
    for (const decision of await unpackDecisions(body)) add(decision.id, { origin, ...decision })
  }
  const ids = [...found.keys()].sort()
  const noted = new Map<string, RecordedOutcomeRow[]>(ids.map((id) => [id, []]))
  for (const row of await readOutcomes(db, ids)) noted.get(row.id)?.push(row)
  for (const id of ids) {
    const decision = found.get(id)
    if (decision === undefined) continue
    const outcome = mergeOutcomes(noted.get(id) ?? [], decision.origin)
    yield { body: decision.body.toString(), outcome }
  }
}
