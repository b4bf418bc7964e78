/**
 * Keeps what becomes known of decided calls. Nobody waits for an outcome, and losing the last
 * moment of them in a crash costs no evidence of a decision, so an outcome is not worth a disk flush
 * of its own: notes are merged in memory and written together.
 */
import type { CompiledQuery } from 'kysely'
import type { CallOutcome, OutcomeRecorder } from '../domain/call-outcome.js'
import type { OpenDatabase } from '../storage/engine.js'
import { mergeOutcome } from './merge-outcome.js'
import { type Noted, storeOutcomes, upsertOutcome } from './outcome-rows.js'

/** Told of each write that failed and will be tried again, and of outcomes given up. */
export interface OutcomeWatch {
  failed(cause: unknown): void
  lost(count: number): void
}

const gatherMs = 100
const longestRetryMs = 10_000
/** Decisions wait for the same connection, so no transaction may be long. */
const largestBatch = 500
const mostWaiting = 20_000

export class OutcomeJournal implements OutcomeRecorder {
  readonly #storage: Pick<OpenDatabase, 'db' | 'traits'>
  readonly #watch: OutcomeWatch
  readonly #upsert: CompiledQuery
  /** By decision id, oldest first. */
  readonly #waiting = new Map<string, Noted>()
  #writing: Promise<void> | undefined
  #endPause: (() => void) | undefined
  /** Given up and not reported yet. */
  #unreportedLosses = 0
  #lost = 0
  #closing = false

  constructor(storage: Pick<OpenDatabase, 'db' | 'traits'>, watch: OutcomeWatch) {
    this.#storage = storage
    this.#watch = watch
    this.#upsert = upsertOutcome(storage.db)
  }

  /** Outcomes that were given up since the start and are on no disk. */
  get lost(): number {
    return this.#lost
  }

  note(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void {
    const noted = this.#waiting.get(decisionId)
    this.#waiting.set(decisionId, {
      outcome: mergeOutcome(noted?.outcome ?? {}, outcome),
      own: own || noted?.own === true,
    })
    if (this.#waiting.size > mostWaiting) this.#giveUpOldest()
    this.#writing ??= this.#writeAll()
  }

  /** Writes at once; resolves when nothing waits any more. */
  async drain(): Promise<void> {
    this.#endPause?.()
    await this.#writing
  }

  /** Tries once more to write what waits; what cannot be written then is given up and told. */
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
    let pauseMs = gatherMs
    while (this.#waiting.size > 0) {
      await this.#pause(pauseMs)
      const cause = await this.#writeWaiting()
      pauseMs = cause === undefined ? gatherMs : Math.min(pauseMs * 2, longestRetryMs)
      if (cause !== undefined) this.#tellFailure(cause)
      if (this.#unreportedLosses > 0) this.#watch.lost(this.#unreportedLosses)
      this.#lost += this.#unreportedLosses
      this.#unreportedLosses = 0
    }
    this.#writing = undefined
  }

  #tellFailure(cause: unknown): void {
    // Another process that holds the lock for a moment is no failure.
    const mayPass = !this.#closing && this.#storage.traits.isLockedElsewhere(cause)
    if (!mayPass) this.#watch.failed(cause)
    if (!this.#closing) return
    this.#unreportedLosses += this.#waiting.size
    this.#waiting.clear()
  }

  async #pause(milliseconds: number): Promise<void> {
    if (this.#closing) return
    await new Promise<void>((resume) => {
      const timer = setTimeout(resume, milliseconds)
      this.#endPause = () => {
        clearTimeout(timer)
        resume()
      }
    })
    this.#endPause = undefined
  }

  /** What waits now, in batches between which decisions have their turn. Gives a failure's cause. */
  async #writeWaiting(): Promise<unknown> {
    const waiting = [...this.#waiting]
    for (let from = 0; from < waiting.length; from += largestBatch) {
      const batch = waiting.slice(from, from + largestBatch)
      try {
        const { db } = this.#storage
        await db.transaction().execute((within) => storeOutcomes(within, batch, this.#upsert))
      } catch (cause) {
        return cause ?? new Error('the database gave no cause')
      }
      for (const [decisionId, noted] of batch) {
        // What was noted while it was being written is merged with it, and written again.
        if (this.#waiting.get(decisionId) === noted) this.#waiting.delete(decisionId)
      }
    }
    return undefined
  }
}
