/**
 * Has the thread that keeps the index and the tree brought up to the records that are on disk: soon after they are, and
 * once more for the checkpoint, which is signed ten seconds after the one before.
 */
import { computeBackoffMs } from '../../runtime/backoff.js'
import { monotonicSeconds, sleep } from '../../runtime/runtime.js'
import { startThread, type Thread } from '../../runtime/thread.js'
import type { KnownPosition } from '../../storage/audit/installation.js'
import type { AnyErasureNotice } from '../../transparency/removal-notices.js'
import type { FrameBlocks } from './frame-blocks.js'
import {
  checkpointSeconds,
  type IndexProgress,
  type IndexRequest,
  type IndexWriterOptions,
  indexWriting,
  type SegmentEvent,
  type SegmentWork,
} from './index-writer.js'
import type { JournalObserver } from './journal-options.js'
import type { RequestedErasure } from './removal/pending-erasures.js'

export interface IndexUpdatesOptions {
  readonly thread: IndexWriterOptions
  readonly observer: JournalObserver
  /** Of what is not in the index; what is in it is forgotten. */
  readonly blocks: FrameBlocks
  /** Number of the last record on disk. */
  readonly getDurableSeq: () => number
  /** Adds notices to the journal. */
  readonly addNotices: (contents: readonly object[]) => void
}

const retryDelays = { firstMs: 10, maxMs: 2_000 }
/** Many records share one transaction of the index. */
const delayMs = 50
/** What is not signed by then is after the next start. */
const maxClosingSeconds = 2

export class IndexUpdates {
  readonly #options: IndexUpdatesOptions
  readonly #thread: Thread<IndexRequest, IndexProgress>
  /** Requested by this process and not done. */
  readonly #erasures = new Map<string, RequestedErasure>()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #signTimer: NodeJS.Timeout | undefined
  #failures = 0
  #progress: IndexProgress | undefined
  #isClosing = false
  /** Why records that were to be erased or removed are not those that were signed. */
  readonly #forgeries = new Map<SegmentWork, string>()
  /** Of the oldest record that may not be signed, and since when it is on disk. */
  #unsignedSeq = 0
  #unsignedSinceSeconds = 0

  constructor(options: IndexUpdatesOptions) {
    this.#options = options
    this.#thread = startThread(indexWriting, options.thread)
    this.#beginUnsigned()
  }

  /** Number of the first record that may not be in the index. */
  get nextSeq(): number {
    return this.#progress?.nextSeq ?? 0
  }

  /** Whether a decision may be neither in the index nor in memory, where the records begin with number `firstSeq`. */
  isIncomplete(firstSeq: number): boolean {
    return this.nextSeq < firstSeq
  }

  /** Since when the oldest record on disk waits for a signed checkpoint; 0 without one. */
  get unsignedSeconds(): number {
    if (this.#unsignedSeq > this.#options.getDurableSeq()) return 0
    return monotonicSeconds() - this.#unsignedSinceSeconds
  }

  #beginUnsigned(): void {
    this.#unsignedSeq = this.#options.getDurableSeq() + 1
    this.#unsignedSinceSeconds = monotonicSeconds()
  }

  /** Of the last record that is in the index; `undefined` until all of the journal is. */
  get position(): KnownPosition | undefined {
    if (this.nextSeq <= this.#options.getDurableSeq()) return undefined
    return this.#progress?.position
  }

  /** Which record is not the one that was signed, for people; `undefined` if none was found. */
  get forgery(): string | undefined {
    return [...this.#forgeries.values()][0]
  }

  addErasure(erasure: RequestedErasure): void {
    this.#erasures.set(erasure.id, erasure)
  }

  schedule(): void {
    this.#timer ??= setTimeout(this.#update, delayMs).unref()
  }

  /** Waits until everything on disk is in the index. */
  async drain(): Promise<void> {
    for (;;) {
      await this.#update()
      if (this.#failures === 0) return
      await sleep(retryDelays.firstMs)
    }
  }

  /** Signs what is on disk; what is left of other work is done after the next start. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#running
    await this.#update()
    clearTimeout(this.#timer)
    clearTimeout(this.#signTimer)
    await this.#thread.close()
  }

  readonly #update = (): Promise<void> => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running ??= this.#updateAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** A failure is not one of the journal: what is not in the index is read from it later. */
  async #updateAll(): Promise<void> {
    const { observer, blocks, getDurableSeq } = this.#options
    const closeBySeconds = monotonicSeconds() + maxClosingSeconds
    try {
      for (let isDone = false; !isDone; ) {
        const erasures = [...this.#erasures.values()]
        const mustSign = this.#isClosing
        const progress = await this.#thread.ask({ lastSeq: getDurableSeq(), erasures, mustSign })
        const { nextSeq, signedSeq, hasMore, event } = progress
        this.#progress = progress
        if (event) this.#tell(event)
        blocks.forgetBefore(nextSeq)
        observer.onIndexLag(getDurableSeq() + 1 - nextSeq)
        if (signedSeq >= this.#unsignedSeq) this.#beginUnsigned()
        const isWritten = nextSeq > getDurableSeq()
        isDone = isWritten && (!hasMore || (this.#isClosing && signedSeq >= getDurableSeq()))
        if (this.#isClosing && monotonicSeconds() > closeBySeconds) isDone = true
      }
      this.#failures = 0
      this.#scheduleCheckpoint()
    } catch (cause) {
      this.#failures += 1
      observer.onIndexFailure(cause)
      if (this.#isClosing) return
      const retryMs = computeBackoffMs(this.#failures, retryDelays)
      this.#timer ??= setTimeout(this.#update, retryMs).unref()
    }
  }

  #tell(event: SegmentEvent): void {
    const { addNotices, observer } = this.#options
    if (event.kind === 'failed') {
      if (event.isForgery) this.#forgeries.set(event.work, event.reason)
    } else if (event.kind === 'announced') {
      this.#forgeries.delete(event.work)
      addNotices(event.notices)
    } else if (event.kind === 'erased') {
      this.#erasures.delete(event.id)
      this.#forgeries.delete('erase')
      const notice: AnyErasureNotice = { erasure: event.id, finished: true }
      addNotices([notice])
    }
    observer.onSegmentEvent(event)
  }

  #scheduleCheckpoint(): void {
    clearTimeout(this.#signTimer)
    if (this.#isClosing || (this.#progress?.signedSeq ?? 0) >= this.#options.getDurableSeq()) return
    this.#signTimer = setTimeout(this.#update, checkpointSeconds * 1_000).unref()
  }
}
