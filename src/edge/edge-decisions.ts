/** Stores the decisions of edges, which send parts of their journals, beside those of the servers. */
import type { EdgeDecisionsRequest, EdgeDecisionsResponse } from '../api/edges.js'
import type { Caller } from '../domain/caller.js'
import { msPerDay } from '../domain/time/dates.js'
import { AppError, invalidRequest } from '../errors.js'
import { readIdInstant } from '../gate/journal/projection/decision-months.js'
import { DecisionStore } from '../gate/journal/projection/decision-store.js'
import { keepRules } from '../gate/journal/recovery/kept-rules.js'
import type { JournalRecord } from '../gate/journal/segment-format.js'
import { RecordError, readRecord } from '../gate/record/read-record.js'
import { systemClock } from '../runtime/runtime.js'
import { edgeOriginMark } from '../storage/cluster/edge-origins.js'
import type { Db } from '../storage/tables.js'

export class EdgeDecisionStore {
  readonly #store: DecisionStore
  readonly #journalFolder: string

  /** The folder is that of this server's journal. */
  constructor(db: Db, journalFolder: string) {
    this.#store = new DecisionStore(db)
    this.#journalFolder = journalFolder
  }

  async store(caller: Caller, request: EdgeDecisionsRequest): Promise<EdgeDecisionsResponse> {
    // An edge cannot touch the journal of a server, nor that of another account's edge.
    const origin = `${caller.accountId}${edgeOriginMark}${request.origin}`
    const records = request.records.map((record, index) =>
      toRecord(record, index, caller.accountId),
    )
    const { firstSeq, notStoredSeq, sender, last, rules = [] } = request
    for (const text of rules) keepRules(this.#journalFolder, text)
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

/** Throws an {@link AppError} unless it is a record of the account. */
function toRecord(
  { seq, kind, at, body }: EdgeDecisionsRequest['records'][number],
  index: number,
  accountId: string,
): JournalRecord {
  const record = { seq, kind, at, body: Buffer.from(body) }
  const field = `records[${index}].body`
  const invalid = (rule: string) => invalidRequest([{ field, rule }])
  const { id, accountId: of } = readOwner(record, accountId, invalid)
  const madeAt = readIdInstant(id)
  // A month is made for each instant, so not for any.
  if (madeAt !== undefined && (madeAt < earliest || madeAt > systemClock.now() + msPerDay)) {
    throw invalid('must have an id of a decision made after 2019, and not later than now')
  }
  if (of !== accountId) {
    throw new AppError('forbidden', `${field}: must be a decision of account ${accountId}`)
  }
  return record
}

/** The whole record is read: one that an erasure could not read would fail, again and again. */
function readOwner(
  record: JournalRecord & { readonly kind: EdgeDecisionsRequest['records'][number]['kind'] },
  accountId: string,
  invalid: (rule: string) => AppError,
): { readonly id: string; readonly accountId: string } {
  const { kind } = record
  try {
    if (kind === 'decision' || kind === 'amendment') return readRecord(kind, record)
    const id = kind === 'outcome' ? readRecord(kind, record).id : ''
    if (kind === 'opened') readRecord(kind, record)
    return { id, accountId }
  } catch (cause) {
    if (cause instanceof RecordError) throw invalid(`must be a record: ${cause.message}`)
    throw cause
  }
}
