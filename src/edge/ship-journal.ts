/** Sends the journal of an edge to its center. Runs in a thread of its own, as for PostgreSQL. */
import type { EdgeRecord } from '../api/edges.js'
import { DataFileError } from '../errors.js'
import type { ClaimedJournal, RecordBatch } from '../gate/journal/projection/decision-store.js'
import {
  JournalProjection,
  nameSender,
  type ProjectionProgress,
  type ProjectionRequest,
  type RecordStore,
} from '../gate/journal/projection/journal-projection.js'
import { nameVersion, readRules } from '../gate/journal/recovery/kept-rules.js'
import type { JournalRecord } from '../gate/journal/segment-format.js'
import { readHead } from '../gate/record/read-head.js'
import { readRecord } from '../gate/record/read-record.js'
import { runInThread, type ThreadWork } from '../runtime/thread.js'
import { CenterClient, type CenterClientOptions } from './center-client.js'

export interface ShippingOptions extends CenterClientOptions {
  /** Of the journal. */
  readonly folder: string
  /** Of the key that signs its tree. */
  readonly keyPath: string
}

class CenterStore implements RecordStore {
  readonly #client: CenterClient
  readonly #folder: string
  readonly #sender: string
  /** Versions of calling rules that the center has. */
  readonly #sentRules = new Set<string>()
  #accountId = ''
  #firstSeq = 1

  constructor({ folder, ...options }: CenterClientOptions & Pick<ShippingOptions, 'folder'>) {
    this.#client = new CenterClient(options)
    this.#folder = folder
    this.#sender = nameSender(folder)
  }

  async claim(origin: string, firstSeq: number, notStoredSeq?: number): Promise<ClaimedJournal> {
    this.#accountId = (await this.#client.account()).accountId
    this.#firstSeq = firstSeq
    const sender = this.#sender
    const claim = { origin, firstSeq, notStoredSeq, sender, records: [] }
    const { nextSeq, last } = await this.#client.storeRecords(claim)
    return { nextSeq, last }
  }

  /** No erasure waits for a journal of an edge. */
  retire(origin: string, firstSeq: number, notStoredSeq?: number): Promise<ClaimedJournal> {
    return this.claim(origin, firstSeq, notStoredSeq)
  }

  async store({ origin, records, last }: RecordBatch) {
    const sent = records.map((record) => this.#toSent(record))
    const rules = this.#listNewRules(sent).flatMap((version) => tryReadRules(this.#folder, version))
    const stored = await this.#client.storeRecords({
      origin,
      firstSeq: this.#firstSeq,
      records: sent,
      rules,
      last,
    })
    for (const text of rules) this.#sentRules.add(nameVersion(text))
    return stored
  }

  #listNewRules(records: readonly EdgeRecord[]): readonly string[] {
    const named = records.flatMap(({ seq, kind, body }) =>
      kind === 'decision' || kind === 'amendment' ? [readRecord(kind, { seq, body }).rules] : [],
    )
    return [...new Set(named)].filter((version) => !this.#sentRules.has(version))
  }

  /** The servers of the center do that. */
  async removeBefore(): Promise<boolean> {
    return true
  }

  /** The sandbox of an edge is its own. What is not about a decision is known to the edge alone. */
  #toSent({ seq, kind, at, body }: JournalRecord): EdgeRecord {
    const isSent =
      kind === 'outcome' ||
      ((kind === 'decision' || kind === 'amendment') &&
        readHead(body).accountId === this.#accountId)
    return isSent
      ? { seq, kind, at, body: body.toString() }
      : { seq, kind: 'opened', at, body: '{}' }
  }
}

/** A decision whose rules are lost is sent all the same; the center names the file when it needs it. */
function tryReadRules(folder: string, version: string): readonly string[] {
  try {
    return [readRules(folder, version).toString()]
  } catch (cause) {
    if (cause instanceof DataFileError) return []
    throw cause
  }
}

export const journalShipping: ThreadWork<ShippingOptions, ProjectionRequest, ProjectionProgress> = {
  module: import.meta.url,
  create: ({ folder, keyPath, ...center }) =>
    new JournalProjection({ folder, keyPath }, async () => new CenterStore({ folder, ...center })),
}

runInThread(journalShipping)
