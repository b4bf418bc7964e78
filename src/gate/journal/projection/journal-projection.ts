/**
 * Copies the journal of this server to PostgreSQL, and removes what has expired there. Runs in a thread of its own:
 * the records are read from the disk again, and are large.
 */

import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { monotonicSeconds, systemClock } from '../../../runtime/runtime.js'
import { runInThread, type ThreadWork } from '../../../runtime/thread.js'
import { openDatabaseInThread } from '../../../storage/engine.js'
import type { ThreadStorageSettings } from '../../../storage/open-database.js'
import { readBeginning, readFormerOrigins } from '../journal-beginning.js'
import { hashOriginName, readOrigin } from '../journal-origin.js'
import { JournalReader } from '../journal-reader.js'
import { readLeaf } from '../recovery/journal-state.js'
import { readSignedBeginning } from '../recovery/signed-beginning.js'
import { toPosition } from '../tree/tree-files.js'
import { openSignedTree } from '../tree/tree-head.js'
import { type ClaimedJournal, type CopiedRecord, DecisionStore } from './decision-store.js'

export interface ProjectionOptions {
  /** Of the journal. */
  readonly folder: string
  /** Of the key that signs its tree. */
  readonly keyPath: string
  readonly storage: Omit<ThreadStorageSettings, 'port'>
}

export interface ProjectionRequest {
  /** Number of the last record on disk. */
  readonly lastSeq: number
  /** From this number on, nothing is in PostgreSQL; `undefined` once some of it may be. */
  readonly notStoredSeq: number | undefined
}

export interface ProjectionProgress {
  /** Number of the first record that is not in PostgreSQL. */
  readonly nextSeq: number
}

/** Where records are copied to; see {@link DecisionStore}. */
export type RecordStore = Pick<DecisionStore, 'claim' | 'retire' | 'store' | 'removeBefore'>

/** What tells this folder from a copy of it. */
export const nameSender = (folder: string): string => `${hostname()}:${dirname(resolve(folder))}`

/**
 * Claims a journal as {@link DecisionStore.claim} does. What is stored of it under its former name stays there. Throws if what is
 * stored under its name comes from another journal, such as a copy of its folder.
 */
export async function claimJournal(
  store: Pick<RecordStore, 'claim' | 'retire'>,
  folder: string,
  origin: string,
  notStoredSeq?: number,
): Promise<number> {
  let { firstSeq } = readBeginning(folder)
  const former = readFormerOrigins(folder).at(-1)
  if (former) {
    const formerOrigin = hashOriginName(former.origin).toString('hex')
    const retired = await store.retire(formerOrigin, firstSeq, notStoredSeq)
    // What a copy of the folder has sent under that name is not of this journal, which is sent from its beginning on.
    if (!findOther(folder, retired)) firstSeq = retired.nextSeq
  }
  const claimed = await store.claim(origin, firstSeq, notStoredSeq)
  const other = findOther(folder, claimed)
  if (!other) return claimed.nextSeq
  throw new Error(
    `record ${other.seq} of journal ${origin.slice(0, 8)} was sent by ${other.sender}, and is not the one of ${nameSender(folder)}: two servers ` +
      'have copies of one folder. Stop this one, run callgate evidence new-origin on its folder, and start it again; nothing of it is lost',
  )
}

/** The last record that is stored, if this journal has another one there, or none. */
function findOther(folder: string, { last }: ClaimedJournal): CopiedRecord | undefined {
  return last && readLeaf(folder, last.seq) !== last.leaf ? last : undefined
}

/** Others wait for a removal, which somebody who reads for long holds up. */
const retryRemovalSeconds = 60

export class JournalProjection {
  readonly #options: Omit<ProjectionOptions, 'storage'>
  readonly #openStore: () => Promise<RecordStore>
  readonly #origin: string
  #store: RecordStore | undefined
  #reader: JournalReader | undefined
  /** Months before this instant were removed by this process. */
  #removedBefore = 0
  #removeAgainAtSeconds = 0

  constructor(options: Omit<ProjectionOptions, 'storage'>, openStore: () => Promise<RecordStore>) {
    this.#options = options
    this.#openStore = openStore
    this.#origin = readOrigin(options.folder, systemClock.now()).toString('hex')
  }

  /** Copies the next records, about two megabytes of them. Without any, it says that the server is there. */
  async handle({ lastSeq, notStoredSeq }: ProjectionRequest): Promise<ProjectionProgress> {
    try {
      this.#store ??= await this.#openStore()
      const store = this.#store
      this.#reader ??= await this.#openReader(store, notStoredSeq)
      const records = this.#reader.read(lastSeq)
      let { nextSeq } = this.#reader
      const newest = records.at(-1)
      if (newest) {
        const last = { ...toPosition(newest), sender: nameSender(this.#options.folder) }
        await store.store({ origin: this.#origin, records, last })
      } else nextSeq = await this.#claimAgain(store, nextSeq)
      await this.#removeExpired(store)
      return { nextSeq }
    } catch (cause) {
      // What was stored is known only there.
      this.#closeReader()
      throw cause
    }
  }

  async #openReader(store: RecordStore, notStoredSeq: number | undefined): Promise<JournalReader> {
    const { folder } = this.#options
    const nextSeq = await claimJournal(store, folder, this.#origin, notStoredSeq)
    return new JournalReader(folder, nextSeq)
  }

  /**
   * A database that was restored from a copy without decisions does not know the journal: they are copied again. One that has more records
   * than it was sent has those of another sender.
   */
  async #claimAgain(store: RecordStore, nextSeq: number): Promise<number> {
    const { firstSeq } = readBeginning(this.#options.folder)
    const { nextSeq: stored } = await store.claim(this.#origin, firstSeq)
    if (stored === nextSeq) return nextSeq
    this.#closeReader()
    if (stored > nextSeq) return await claimJournal(store, this.#options.folder, this.#origin)
    return stored
  }

  /** What the journal says to have removed. */
  async #removeExpired(store: RecordStore): Promise<void> {
    const { folder, keyPath } = this.#options
    if (readBeginning(folder).removedBefore <= this.#removedBefore) return
    if (monotonicSeconds() < this.#removeAgainAtSeconds) return
    const { removedBefore } = readSignedBeginning(folder, openSignedTree(folder, keyPath))
    if (await store.removeBefore(this.#origin, removedBefore)) this.#removedBefore = removedBefore
    else this.#removeAgainAtSeconds = monotonicSeconds() + retryRemovalSeconds
  }

  #closeReader(): void {
    this.#reader?.close()
    this.#reader = undefined
  }

  close(): void {
    this.#closeReader()
  }
}

export const journalProjecting: ThreadWork<
  ProjectionOptions,
  ProjectionRequest,
  ProjectionProgress
> = {
  module: import.meta.url,
  create: ({ storage, ...options }) =>
    new JournalProjection(options, async () => {
      const { db } = await openDatabaseInThread({ ...storage, port: undefined })
      return new DecisionStore(db)
    }),
}

runInThread(journalProjecting)
