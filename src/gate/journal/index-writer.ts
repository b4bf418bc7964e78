/**
 * Brings the index and the signed tree up to the journal, and keeps the complete segments in order: takes erased
 * numbers out of them, removes the expired ones, compresses the others. Runs in a thread of its own, since it waits
 * for the disk.
 */
import { DataFileError, getErrorMessage } from '../../errors.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { runInThread, type ThreadWork } from '../../runtime/thread.js'
import type { KnownPosition } from '../../storage/audit/installation.js'
import { toPublicKey } from '../../transparency/signed-note.js'
import { readRecord } from '../record/read-record.js'
import { DecisionIndex } from './decision-index.js'
import { hashOriginName } from './journal-origin.js'
import {
  compressOldestSegment,
  JournalReader,
  listSegments,
  type PlacedRecord,
} from './journal-reader.js'
import type { RecoveredJournal } from './recovery/recover-journal.js'
import { SealedReader } from './recovery/sealed-groups.js'
import {
  type FinishedErasure,
  PendingErasures,
  type RequestedErasure,
} from './removal/pending-erasures.js'
import { type RemovedSegments, Retention } from './removal/retention.js'
import { ChangedRecordError } from './tree/signed-tree.js'
import { toPosition } from './tree/tree-files.js'
import { openSigningKey } from './tree/tree-head.js'
import { TreeWriter } from './tree/tree-writer.js'

export interface IndexWriterOptions {
  /** Of the journal. */
  readonly folder: string
  readonly indexPath: string
  /** How long decisions are kept. */
  readonly keepYears: number
  /** Of the key that signs the tree. */
  readonly keyPath: string
}

/** A checkpoint follows the one before after this time, if there is anything to sign. */
export const checkpointSeconds = 10

/** What a start found, or something that happened to complete segments. A failure does not hold up the index; it is tried again. */
export type SegmentEvent =
  | ({ readonly kind: 'recovered' } & Pick<RecoveredJournal, 'notTakenOver' | 'copies'>)
  | {
      readonly kind: 'failed'
      readonly work: SegmentWork
      readonly reason: string
      /** Whether a record is not as it was signed. */
      readonly isForgery: boolean
    }
  /** What is to be written to the journal and signed before segments are changed. */
  | { readonly kind: 'announced'; readonly work: SegmentWork; readonly notices: readonly object[] }
  | ({ readonly kind: 'removed' } & RemovedSegments)
  | ({ readonly kind: 'erased' } & FinishedErasure)

/** To sign, to erase a number, to remove what has expired, to compress. */
export type SegmentWork = 'sign' | 'erase' | 'remove' | 'compress'

export interface IndexRequest {
  /** Number of the last record on disk. */
  readonly lastSeq: number
  /** Those that are not done. */
  readonly erasures: readonly RequestedErasure[]
  /** Whether to sign now what is on disk. */
  readonly mustSign: boolean
}

export interface IndexProgress {
  /** Number of the first record that is not in the index. */
  readonly nextSeq: number
  /** Number of the last record in the newest checkpoint. */
  readonly signedSeq: number
  /** Of the last record that was added; `undefined` before one was. */
  readonly position: KnownPosition | undefined
  /** Whether there is more to do at once. */
  readonly hasMore: boolean
  readonly event: SegmentEvent | undefined
}

/** The disk is probably full, so trying again at once would not help. */
const retrySeconds = 60

class IndexWriter {
  readonly #options: IndexWriterOptions
  readonly #index: DecisionIndex
  readonly #retention: Retention
  readonly #erasures: PendingErasures
  #reader: JournalReader | undefined
  #tree: TreeWriter | undefined
  /** Of what is not in the tree. */
  #sealed: SealedReader | undefined
  #position: KnownPosition | undefined
  #signedAtSeconds = Number.NEGATIVE_INFINITY
  readonly #nextAttemptSeconds = new Map<SegmentWork, number>()

  constructor(options: IndexWriterOptions) {
    const { folder, indexPath } = options
    this.#options = options
    this.#index = new DecisionIndex(indexPath, folder)
    this.#retention = new Retention(options, this.#index)
    this.#erasures = new PendingErasures(folder, this.#index)
  }

  /**
   * Adds the next records, up to and including number `lastSeq`, about two megabytes of them at a time.
   * When that is done, works on a complete segment.
   */
  handle({ lastSeq, erasures, mustSign }: IndexRequest): IndexProgress {
    try {
      this.#reader ??= new JournalReader(this.#options.folder, this.#index.nextSeq)
      const records = this.#reader.read(lastSeq)
      const { nextSeq } = this.#reader
      if (records.length === 0 && nextSeq <= lastSeq) {
        throw new DataFileError(this.#options.folder, `record ${nextSeq} cannot be read`)
      }
      this.#index.add(records)
      this.#addErasures(records, erasures)
      const isCurrent = nextSeq > lastSeq
      const event =
        this.#attempt('sign', () => this.#addToTree(lastSeq, mustSign)) ??
        (isCurrent ? this.#workOnSegment(nextSeq) : undefined)
      const hasMore =
        (this.#isTreeBehind(lastSeq) && this.#mayTry('sign')) ||
        (this.#tree !== undefined && this.#mayTry('sign') && this.#hasWork())
      const { signedSeq = 0 } = this.#tree ?? {}
      const last = records.at(-1)
      if (last) this.#position = toPosition(last)
      const position = this.#position
      return { nextSeq, signedSeq, position, hasMore, event }
    } catch (cause) {
      // The next attempt begins where the index ends.
      this.#reader?.close()
      this.#reader = undefined
      throw cause
    }
  }

  #hasWork(): boolean {
    return (
      (this.#erasures.hasWork && this.#mayTry('erase')) ||
      (this.#retention.isRemoving && this.#mayTry('remove'))
    )
  }

  /** One that this process has not requested is done, or will be requested again. */
  #addErasures(records: readonly PlacedRecord[], requested: readonly RequestedErasure[]): void {
    for (const record of records) {
      const { kind, segment } = record
      if (kind === 'notice') {
        this.#erasures.addNotice(record)
        this.#retention.addNotice(record)
      }
      if (kind !== 'erasure') continue
      const note = readRecord(kind, record)
      const erasure = requested.find(({ id }) => id === note.id)
      if (erasure) this.#erasures.add({ ...erasure, beforeSeq: segment })
    }
  }

  /** After a crash it goes on from its last checkpoint. Nothing is signed while a record is not as it was sealed. */
  #addToTree(lastSeq: number, mustSign: boolean): undefined {
    try {
      this.#tree ??= this.#openTree()
      if (this.#isTreeBehind(lastSeq)) this.#tree.add(this.#sealed?.read(lastSeq) ?? [])
      const isDue = monotonicSeconds() - this.#signedAtSeconds >= checkpointSeconds
      if (isDue || mustSign) this.#signNow()
    } catch (cause) {
      // It is opened again from its last checkpoint.
      this.#tree = undefined
      this.#sealed?.close()
      throw cause
    }
  }

  #openTree(): TreeWriter {
    const { folder, keyPath } = this.#options
    const key = openSigningKey(folder, keyPath)
    const tree = new TreeWriter(folder, key)
    const origin = hashOriginName(key.name)
    const { signedSeq } = tree
    this.#sealed = new SealedReader(folder, { origin, key: toPublicKey(key), signedSeq })
    return tree
  }

  #isTreeBehind(lastSeq: number): boolean {
    return (this.#tree?.nextSeq ?? 0) <= lastSeq
  }

  /** What is changed or removed without being signed before, or without a notice, could not be told from a forgery. */
  #mayChangeSegments({ signedSeq, nextSeq }: TreeWriter): boolean {
    const newest = listSegments(this.#options.folder).at(-1)?.firstSeq ?? 1
    const noticed = Math.max(this.#erasures.awaitedSeq, this.#retention.awaitedSeq)
    return signedSeq >= noticed && signedSeq >= Math.min(newest, nextSeq - 1)
  }

  #signNow(): undefined {
    this.#tree?.sign()
    this.#signedAtSeconds = monotonicSeconds()
  }

  #mayTry(work: SegmentWork): boolean {
    return monotonicSeconds() >= (this.#nextAttemptSeconds.get(work) ?? 0)
  }

  #workOnSegment(nextSeq: number): SegmentEvent | undefined {
    const compress = () => {
      compressOldestSegment(this.#options.folder, nextSeq)
      return undefined
    }
    const changed = this.#tree && this.#changeSegment(this.#tree)
    return changed ?? this.#attempt('compress', compress)
  }

  #changeSegment(tree: TreeWriter): SegmentEvent | undefined {
    if (!this.#mayChangeSegments(tree)) return this.#attempt('sign', () => this.#signNow())
    const erase = () => toEvent('erase', this.#erasures.continue(tree.openSigned()))
    const remove = () => toEvent('remove', this.#retention.removeNext(tree.openSigned()))
    return this.#attempt('erase', erase) ?? this.#attempt('remove', remove)
  }

  #attempt(work: SegmentWork, run: () => SegmentEvent | undefined): SegmentEvent | undefined {
    if (!this.#mayTry(work)) return undefined
    try {
      return run()
    } catch (cause) {
      this.#nextAttemptSeconds.set(work, monotonicSeconds() + retrySeconds)
      const isForgery = cause instanceof ChangedRecordError
      return { kind: 'failed', work, reason: getErrorMessage(cause), isForgery }
    }
  }

  close(): void {
    this.#sealed?.close()
    this.#reader?.close()
    this.#index.close()
  }
}

function toEvent(
  work: SegmentWork,
  done: readonly object[] | FinishedErasure | RemovedSegments | undefined,
): SegmentEvent | undefined {
  if (done === undefined) return undefined
  if ('id' in done) return { kind: 'erased', ...done }
  if ('segments' in done) return { kind: 'removed', ...done }
  return done.length === 0 ? undefined : { kind: 'announced', work, notices: done }
}

export const indexWriting: ThreadWork<IndexWriterOptions, IndexRequest, IndexProgress> = {
  module: import.meta.url,
  create: (options) => new IndexWriter(options),
}

runInThread(indexWriting)
