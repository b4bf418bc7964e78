/** Stores the decisions of edges, which send parts of their journals, beside those of the servers. */
import type { EdgeDecisionsRequest, EdgeDecisionsResponse } from '../api/edges.js'
import type { Caller } from '../domain/caller.js'
import { msPerDay } from '../domain/time/dates.js'
import { AppError, getErrorMessage, invalidRequest } from '../errors.js'
import { readIdInstant } from '../gate/journal/projection/decision-months.js'
import { DecisionStore } from '../gate/journal/projection/decision-store.js'
import { readHead } from '../gate/journal/search/searched-fields.js'
import type { JournalRecord } from '../gate/journal/segment-format.js'
import { systemClock } from '../runtime/runtime.js'
import { edgeOriginMark } from '../storage/cluster/edge-origins.js'
import type { Db } from '../storage/tables.js'

export class EdgeDecisionStore {
  readonly #store: DecisionStore

  constructor(db: Db) {
    this.#store = new DecisionStore(db)
  }

  async store(caller: Caller, request: EdgeDecisionsRequest): Promise<EdgeDecisionsResponse> {
    // An edge cannot touch the journal of a server, nor that of another account's edge.
    const origin = `${caller.accountId}${edgeOriginMark}${request.origin}`
    const records = request.records.map((record, index) =>
      readRecord(record, index, caller.accountId),
    )
    const { firstSeq, notStoredSeq, sender, last } = request
    if (records.length > 0) return await this.#store.store({ origin, records, last })
    // What another sender has stored is no older copy of what this one has.
    const other = await this.#store.findSender(origin)
    const isSame = other === undefined || other === sender
    const claimed = await this.#store.claim(origin, firstSeq, isSame ? notStoredSeq : undefined)
    return { ...claimed, decisions: 0, outcomes: 0 }
  }
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
  const invalid = (rule: string) => invalidRequest([{ field, rule }])
  const content = parseBody(body, invalid)
  if (kind === 'opened') return record
  const { id, accountId: of } =
    kind === 'outcome' ? { id: content.id, accountId } : readHead(record.body)
  if (typeof id !== 'string') throw invalid('must have an id')
  if (kind === 'outcome' && !isObject(content.outcome)) throw invalid('must have an outcome')
  const madeAt = readIdInstant(id)
  // A month is made for each instant, so not for any.
  if (madeAt !== undefined && (madeAt < earliest || madeAt > systemClock.now() + msPerDay)) {
    throw invalid('must have an id of a decision made after 2019, and not later than now')
  }
  if (of !== accountId) {
    throw new AppError('forbidden', `${field}: must be a decision of account ${accountId}`)
  }
  if (kind !== 'outcome' && !canBeErased(content)) {
    throw invalid('must have a number, what was dialed, and findings')
  }
  return record
}

function parseBody(
  body: string,
  invalid: (rule: string) => AppError,
): Readonly<Record<string, unknown>> {
  let content: unknown
  try {
    content = JSON.parse(body)
  } catch (cause) {
    throw invalid(`must be JSON: ${getErrorMessage(cause)}`)
  }
  if (!isObject(content)) throw invalid('must be a JSON object')
  return content
}

/** Whether it has what an erasure looks at: one of a later number would fail, again and again. */
function canBeErased({ number, dialed, findings }: Readonly<Record<string, unknown>>): boolean {
  const isText = typeof number === 'string' && typeof dialed === 'string'
  return isText && Array.isArray(findings) && findings.every(isObject)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
