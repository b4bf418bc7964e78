/**
 * Stores what happened to decided calls. Nobody waits for an outcome, and losing the latest ones in a
 * crash loses no evidence of a decision, so an outcome is not worth a disk flush of its own: notes are
 * merged in memory and written together.
 */

import type { CompiledQuery } from 'kysely'
import type { CallOutcome, OutcomeRecorder } from '../../domain/call-outcome.js'
import { sleep } from '../../runtime/wait.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import { mergeOutcome } from './merge-outcome.js'
import { compileUpsertOutcome, type PendingOutcome, storeOutcomes } from './outcome-rows.js'

/** Called for each write that failed and will be tried again, and for outcomes given up. */
export interface OutcomeObserver {
  onFailure(cause: unknown): void
  onLoss(count: number): void
}

const batchDelayMs = 100
const maxRetryDelayMs = 10_000
/** Decisions wait for the same connection, so no transaction may be long. */
const maxBatchSize = 500
const maxWaiting = 20_000

export class OutcomeJournal implements OutcomeRecorder {
  readonly #storage: Pick<OpenDatabase, 'db' | 'traits'>
  readonly #observer: OutcomeObserver
  readonly #upsert: CompiledQuery
  /** By decision id, oldest first. */
  readonly #waiting = new Map<string, PendingOutcome>()
  #writing: Promise<void> | undefined
  #pause: AbortController | undefined
  /** Given up and not reported yet. */
  #unreportedLosses = 0
  #lostCount = 0
  #closing = false

  constructor(storage: Pick<OpenDatabase, 'db' | 'traits'>, observer: OutcomeObserver) {
    this.#storage = storage
    this.#observer = observer
    this.#upsert = compileUpsertOutcome(storage.db)
  }

  /** Outcomes that were given up since the start and are not on disk. */
  get lostCount(): number {
    return this.#lostCount
  }

  record(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void {
    const known = this.#waiting.get(decisionId)
    this.#waiting.set(decisionId, {
      outcome: mergeOutcome(known?.outcome ?? {}, outcome),
      isOwn: own || known?.isOwn === true,
    })
    if (this.#waiting.size > maxWaiting) this.#giveUpOldest()
    this.#writing ??= this.#writeAll()
  }

  /** Writes at once; resolves when nothing is waiting. */
  async drain(): Promise<void> {
    this.#pause?.abort()
    await this.#writing
  }

  /** Tries once more to write what is waiting; what cannot be written is given up and reported. */
  async close(): Promise<void> {
    this.#closing = true
    await this.drain()
  }

  #giveUpOldest(): void {
    for (const decisionId of this.#waiting.keys()) {
      this.#waiting.delete(decisionId)
      this.#unreportedLosses += 1
      return
    }
  }

  async #writeAll(): Promise<void> {
    let pauseMs = batchDelayMs
    while (this.#waiting.size > 0) {
      await this.#sleep(pauseMs)
      const cause = await this.#writeWaiting()
      pauseMs = cause === undefined ? batchDelayMs : Math.min(pauseMs * 2, maxRetryDelayMs)
      if (cause !== undefined) this.#reportFailure(cause)
      if (this.#unreportedLosses > 0) this.#observer.onLoss(this.#unreportedLosses)
      this.#lostCount += this.#unreportedLosses
      this.#unreportedLosses = 0
    }
    this.#writing = undefined
  }

  #reportFailure(cause: unknown): void {
    // A lock that another process holds for a moment is not a failure.
    const mayPass = !this.#closing && this.#storage.traits.isLockedElsewhere(cause)
    if (!mayPass) this.#observer.onFailure(cause)
    if (!this.#closing) return
    this.#unreportedLosses += this.#waiting.size
    this.#waiting.clear()
  }

  async #sleep(milliseconds: number): Promise<void> {
    if (this.#closing) return
    this.#pause = new AbortController()
    await sleep(milliseconds, { signal: this.#pause.signal })
  }

  /** Writes what is waiting now, in batches that let decisions in between. Returns a failure's cause. */
  async #writeWaiting(): Promise<unknown> {
    const waiting = [...this.#waiting]
    for (let from = 0; from < waiting.length; from += maxBatchSize) {
      const batch = waiting.slice(from, from + maxBatchSize)
      try {
        const { db } = this.#storage
        await db.transaction().execute((within) => storeOutcomes(within, batch, this.#upsert))
      } catch (cause) {
        return cause ?? new Error('the database gave no cause')
      }
      for (const [decisionId, pending] of batch) {
        // A note that arrived during the write was merged with this one, and is written again.
        if (this.#waiting.get(decisionId) === pending) this.#waiting.delete(decisionId)
      }
    }
    return undefined
  }
}
