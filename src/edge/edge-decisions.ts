/** Stores the decisions of edges, which send parts of their journals, beside those of the servers. */
import type { EdgeDecisionsRequest, EdgeDecisionsResponse } from '../api/edges.js'
import type { Caller } from '../domain/caller.js'
import { AppError, getErrorMessage, invalidRequest } from '../errors.js'
import { readHead } from '../gate/journal/decision-index.js'
import { DecisionStore } from '../gate/journal/projection/decision-store.js'
import type { JournalRecord } from '../gate/journal/segment-format.js'
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
  if (kind !== 'decision' && kind !== 'amendment') return record
  if (readHead(record.body).accountId === accountId) return record
  throw new AppError('forbidden', `${field}: must be a decision of account ${accountId}`)
}
