/** Sends the journal of an edge to its center. Runs in a thread of its own, as for PostgreSQL. */
import type { EdgeRecord } from '../api/edges.js'
import type { RecordBatch } from '../gate/journal/projection/decision-store.js'
import {
  JournalProjection,
  type ProjectionProgress,
  type ProjectionRequest,
  type RecordStore,
} from '../gate/journal/projection/journal-projection.js'
import { readHead } from '../gate/journal/search/searched-fields.js'
import type { JournalRecord } from '../gate/journal/segment-format.js'
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
  #accountId = ''
  #firstSeq = 1

  constructor(options: CenterClientOptions) {
    this.#client = new CenterClient(options)
  }

  async claim(origin: string, firstSeq: number, notStoredSeq?: number): Promise<number> {
    this.#accountId = (await this.#client.account()).accountId
    this.#firstSeq = firstSeq
    const claim = { origin, firstSeq, notStoredSeq, records: [] }
    return (await this.#client.storeRecords(claim)).nextSeq
  }

  /** No erasure waits for a journal of an edge. */
  retire(origin: string, firstSeq: number, notStoredSeq?: number): Promise<number> {
    return this.claim(origin, firstSeq, notStoredSeq)
  }

  async store({ origin, records }: RecordBatch) {
    const sent = records.map((record) => this.#toSent(record))
    return await this.#client.storeRecords({ origin, firstSeq: this.#firstSeq, records: sent })
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

export const journalShipping: ThreadWork<ShippingOptions, ProjectionRequest, ProjectionProgress> = {
  module: import.meta.url,
  create: ({ folder, keyPath, ...center }) =>
    new JournalProjection({ folder, keyPath }, async () => new CenterStore(center)),
}

runInThread(journalShipping)
