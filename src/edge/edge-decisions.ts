/** Stores the decisions of edges, which send parts of their journals, beside those of the servers. */
import type { EdgeDecisionsRequest, EdgeDecisionsResponse } from '../api/edges.js'
import type { Caller } from '../domain/caller.js'
import { msPerDay } from '../domain/time/dates.js'
import { AppError, getErrorMessage, invalidRequest } from '../errors.js'
import { type OutcomeNote, readHead } from '../gate/journal/decision-index.js'
import { readIdInstant } from '../gate/journal/projection/decision-months.js'
import { DecisionStore } from '../gate/journal/projection/decision-store.js'
import type { JournalRecord } from '../gate/journal/segment-format.js'
import { systemClock } from '../runtime/runtime.js'
import { edgeOriginMark } from '../storage/cluster/edge-origins.js'
import type { Db } from '../storage/tables.js'

export async function storeEdgeDecisions(
  db: Db,
  caller: Caller,
  request: EdgeDecisionsRequest,
): Promise<EdgeDecisionsResponse> {
  const store = new DecisionStore(db)
  // An edge cannot touch the journal of a server, nor that of another account's edge.
  const origin = `${caller.accountId}${edgeOriginMark}${request.origin}`
  const records = request.records.map((record, index) =>
    readRecord(record, index, caller.accountId),
  )
  if (records.length > 0) return await store.store({ origin, records })
  const nextSeq = await store.claim(origin, request.firstSeq, request.notStoredSeq)
  return { nextSeq, decisions: 0, outcomes: 0 }
}

/** 2020-01-01. */
const earliest = 1_577_836_800_000

function readRecord(
  { seq, kind, at, body }: EdgeDecisionsRequest['records'][number],
  index: number,
  accountId: string,
): JournalRecord {
  const record = { seq, kind, at, body: Buffer.from(body) }
  const field = `records[${index}].body`
  try {
    JSON.parse(body)
  } catch (cause) {
    throw invalidRequest([{ field, rule: `must be JSON: ${getErrorMessage(cause)}` }])
  }
  if (kind === 'opened') return record
  const { id, accountId: of } =
    kind === 'outcome' ? { ...(JSON.parse(body) as OutcomeNote), accountId } : readHead(record.body)
  const madeAt = readIdInstant(id)
  // A month is made for each instant, so not for any.
  if (madeAt !== undefined && (madeAt < earliest || madeAt > systemClock.now() + msPerDay)) {
    throw invalidRequest([
      { field, rule: 'must have an id of a decision made after 2019, and not later than now' },
    ])
  }
  if (of === accountId) return record
  throw new AppError('forbidden', `${field}: must be a decision of account ${accountId}`)
}
