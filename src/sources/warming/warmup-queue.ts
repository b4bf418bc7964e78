/**
 * Limits the rate of warming: jobs take turns with batches of numbers, and no more numbers are in
 * flight than the source accepts. The batches are large, so that the source's requests are full.
 */

import type { Timers } from '../../domain/time/clock.js'
import { sleep } from '../../runtime/runtime.js'
import type { WarmupResult } from '../cache/cached-compliance.js'

/** A part of a job. */
export interface WarmupBatch {
  readonly accountId: string
  /** Indexes in the job's list. */
  readonly indexes: ArrayLike<number>
  /** Count of the indexes that are done. */
  readonly offset: number
  isFinished(): boolean
  /** Never rejects. */
  warmUp(index: number): Promise<WarmupResult>
  onResult(index: number, result: WarmupResult): void
}

/**
 * Limits of one turn of the event loop, so that decisions are not delayed. Our own service answers most
 * questions later in the same turn, at some 40 microseconds each.
 */
const maxSliceMs = 3
const maxSliceNumbers = 50

/** Smaller batches would leave the source's requests nearly empty. */
const minBatchSize = 500
/**
 * With a larger share of failures, the source cannot keep up with batches of that size. The cause may
 * also be one account whose questions always fail, so each account has a batch size of its own.
 */
const maxUnansweredShare = 0.05

export class WarmupQueue {
  readonly #timers: Timers
  readonly #closing = new AbortController()
  readonly #maxInFlight: number
  /** Batch sizes of the accounts for which they are smaller than `#maxInFlight`. */
  readonly #batchSizes = new Map<string, number>()
  #lastBatch: Promise<unknown> = Promise.resolve()

  constructor(options: { readonly timers: Timers; readonly maxInFlight: number }) {
    this.#timers = options.timers
    this.#maxInFlight = options.maxInFlight
  }

  /**
   * Waits for earlier batches, asks about the next numbers of the job, and resolves to their count: at
   * least one unless the job has finished. A job waits for its batch before it adds another, so jobs
   * take turns.
   */
  runBatch(batch: WarmupBatch): Promise<number> {
    const own = this.#lastBatch.then(() => this.#startBatch(batch))
    this.#lastBatch = own
    return own
  }

  /** Stops all timers; all jobs must have finished. */
  close(): void {
    this.#closing.abort()
  }

  async #startBatch({
    accountId,
    indexes,
    offset,
    isFinished,
    warmUp,
    onResult,
  }: WarmupBatch): Promise<number> {
    const size = this.#batchSizes.get(accountId) ?? this.#maxInFlight
    const inFlight: Promise<void>[] = []
    let unanswered = 0
    let sliceEnd = this.#timers.monotonicMs() + maxSliceMs
    while (inFlight.length < size && offset + inFlight.length < indexes.length && !isFinished()) {
      const index = indexes[offset + inFlight.length] ?? 0
      const answered = warmUp(index).then((result) => {
        if (result === 'unanswered') unanswered += 1
        onResult(index, result)
      })
      inFlight.push(answered)
      const isSliceOver = this.#timers.monotonicMs() >= sliceEnd
      if (isSliceOver || inFlight.length % maxSliceNumbers === 0) {
        await sleep(0, { timers: this.#timers, signal: this.#closing.signal })
        sliceEnd = this.#timers.monotonicMs() + maxSliceMs
      }
    }
    await Promise.all(inFlight)
    const isTooLarge = unanswered > inFlight.length * maxUnansweredShare
    this.#setBatchSize(accountId, isTooLarge ? size / 2 : size * 2)
    return inFlight.length
  }

  #setBatchSize(accountId: string, wanted: number): void {
    const size = Math.floor(Math.max(minBatchSize, wanted))
    if (size < this.#maxInFlight) this.#batchSizes.set(accountId, size)
    else this.#batchSizes.delete(accountId)
  }
}
