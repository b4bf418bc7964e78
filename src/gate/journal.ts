/**
 * The record of every decision: the evidence that a call was asked about, what was found and why.
 * Records that arrive together are written in one transaction, so that a busy gate pays for one
 * disk flush per batch and not per call. A record that cannot be written is told to its asker at
 * once, and tried again until it is on disk.
 */
import type { CompiledQuery } from 'kysely'
import { monotonicSeconds } from '../domain/clock.js'
import type { Decision } from '../domain/decision.js'
import type { OpenDatabase } from '../storage/engine.js'
import type { DecisionRow } from '../storage/tables.js'
import type { DecisionDocument } from './decision-document.js'
import { findDecision, insertDecision, rowOf, valuesOf } from './decision-rows.js'

/** Told how many records wait, of each decision whose record failed, and of records given up. */
export interface JournalWatch {
  pending(count: number): void
  failed(cause: unknown): void
  lost(count: number): void
}

interface Entry {
  row: DecisionRow
  /** When it was handed in, in {@link monotonicSeconds}. */
  readonly since: number
  /** Absent once the asker has been answered. */
  settle: { readonly written: () => void; readonly failed: (cause: unknown) => void } | undefined
}

const largestBatch = 1_000
const mostKept = 20_000
const lockPauseMs = 5
const shortestRetryMs = 10
const longestRetryMs = 2_000
/** A record that waits longer means that calls are withheld: a decision has a fraction of it. */
const maxWaitSeconds = 1
/** So many rows refused one after the other mean that it is not for the rows. */
const refusalsInARow = 3

export class Journal {
  readonly #storage: Pick<OpenDatabase, 'db' | 'traits'>
  readonly #watch: JournalWatch
  readonly #insert: CompiledQuery
  /** By decision id, oldest first. */
  readonly #waiting = new Map<string, Entry>()
  /** Those whose write has failed once, to be tried again. */
  readonly #failed = new Map<string, Entry>()
  #writing: Promise<void> | undefined
  #retrying: Promise<void> | undefined
  /** Of the last write, if it failed. */
  #lastCause: unknown
  #closing = false
  #lost = 0

  constructor(storage: Pick<OpenDatabase, 'db' | 'traits'>, watch: JournalWatch) {
    this.#storage = storage
    this.#watch = watch
    this.#insert = insertDecision(storage.db)
  }

  /** Records that were given up since the start and are on no disk. */
  get lost(): number {
    return this.#lost
  }

  /** Why records are not on disk that should be, for people; `undefined` while all is well. */
  problem(): string | undefined {
    const cause = this.#lastCause instanceof Error ? `: ${this.#lastCause.message}` : ''
    if (this.#failed.size > 0) {
      return `records of ${this.#failed.size} decisions could not be written and are tried again${cause}`
    }
    const [oldest] = this.#waiting.values()
    const waitedSeconds = oldest ? monotonicSeconds() - oldest.since : 0
    if (waitedSeconds <= maxWaitSeconds) return undefined
    const seconds = Math.floor(waitedSeconds)
    return `records of ${this.#waiting.size} decisions wait to be written, since ${seconds} s${cause}`
  }

  /**
   * Resolves when the decision is on disk; rejects when its first write failed or too many records
   * wait. A record whose write failed is tried again all the same.
   */
  append(decision: Decision): Promise<void> {
    const row = rowOf(decision)
    return new Promise((written, failed) => {
      const entry: Entry = { row, since: monotonicSeconds(), settle: { written, failed } }
      if (this.#waiting.size < mostKept) this.#enqueue(entry)
      else this.#refuse(entry, new Error(`${mostKept} decisions wait to be recorded`))
    })
  }

  /**
   * Replaces the record of a decision that was given otherwise than first recorded. One that was given
   * up because too many wait stays lost.
   */
  amend(decision: Decision): void {
    const row = rowOf(decision)
    const kept = this.#waiting.get(row.id) ?? this.#failed.get(row.id)
    if (kept) kept.row = row
    else if (this.#waiting.size < mostKept)
      this.#enqueue({ row, since: monotonicSeconds(), settle: undefined })
  }

  /** The record of one decision; `undefined` when the account has none of that id. */
  find(accountId: string, id: string): Promise<DecisionDocument | undefined> {
    return findDecision(this.#storage.db, accountId, id)
  }

  /** Waits until everything handed in so far is on disk, failed records included. */
  async drain(): Promise<void> {
    await this.#writing
    await this.#retrying
  }

  /** Tries once more what has failed; what cannot be written then is lost and reported. */
  async close(): Promise<void> {
    this.#closing = true
    await this.drain()
    await this.#writeEach([...this.#failed.values()], this.#failed)
    if (this.#failed.size > 0) this.#giveUp(this.#failed.size)
    this.#failed.clear()
  }

  #enqueue(entry: Entry): void {
    this.#waiting.set(entry.row.id, entry)
    this.#watch.pending(this.#waiting.size + this.#failed.size)
    this.#writing ??= this.#writeAll()
  }

  /** The turn of the event loop before each batch lets the requests of one turn share a flush. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      await new Promise<void>((resume) => setImmediate(resume))
      const batch = oldestOf(this.#waiting)
      const cause = await this.#write(batch, this.#waiting)
      // Nobody waits for ever at the end: a lock that stays is then a failure like any other.
      const mayPass = cause !== undefined && this.#isLock(cause) && !this.#closing
      if (mayPass) await pause(lockPauseMs)
      else if (cause !== undefined) await this.#writeEach(batch, this.#waiting)
      this.#watch.pending(this.#waiting.size + this.#failed.size)
    }
    this.#writing = undefined
  }

  async #retryAll(): Promise<void> {
    let waitMs = shortestRetryMs
    while (this.#failed.size > 0 && !this.#closing) {
      await pause(waitMs)
      waitMs = Math.min(waitMs * 2, longestRetryMs)
      const batch = oldestOf(this.#failed)
      const cause = await this.#write(batch, this.#failed)
      if (cause !== undefined) await this.#writeEach(batch, this.#failed)
      this.#watch.pending(this.#waiting.size + this.#failed.size)
    }
    this.#retrying = undefined
  }

  #isLock(cause: unknown): boolean {
    return this.#storage.traits.isLockedElsewhere(cause)
  }

  /** One row that the database refuses must not withhold the calls of all the others. */
  async #writeEach(batch: readonly Entry[], from: Map<string, Entry>): Promise<void> {
    let refusals = 0
    let cause: unknown
    for (const entry of batch) {
      if (refusals < refusalsInARow) cause = await this.#write([entry], from)
      if (cause === undefined) refusals = 0
      else {
        refusals += 1
        from.delete(entry.row.id)
        this.#refuse(entry, cause)
      }
    }
  }

  /** Tells the asker, and keeps the record to try again. */
  #refuse(entry: Entry, cause: unknown): void {
    if (entry.settle) this.#watch.failed(cause)
    entry.settle?.failed(cause)
    entry.settle = undefined
    if (this.#failed.size < mostKept) this.#failed.set(entry.row.id, entry)
    else this.#giveUp(1)
    if (!this.#closing) this.#retrying ??= this.#retryAll()
  }

  #giveUp(count: number): void {
    this.#lost += count
    this.#watch.lost(count)
  }

  /** Gives the cause when nothing was written. */
  async #write(batch: readonly Entry[], from: Map<string, Entry>): Promise<unknown> {
    const rows = batch.map((entry) => entry.row)
    const { query, queryId, sql } = this.#insert
    try {
      await this.#storage.db.transaction().execute(async (transaction) => {
        for (const row of rows) {
          await transaction.executeQuery({ query, queryId, sql, parameters: valuesOf(row) })
        }
      })
    } catch (cause) {
      this.#lastCause = cause ?? new Error('the database gave no cause')
      return this.#lastCause
    }
    this.#lastCause = undefined
    batch.forEach((entry, index) => {
      // An entry amended while it was being written stays, to be written again.
      if (entry.row === rows[index]) from.delete(entry.row.id)
      entry.settle?.written()
      entry.settle = undefined
    })
    return undefined
  }
}

function oldestOf(entries: ReadonlyMap<string, Entry>): readonly Entry[] {
  const batch: Entry[] = []
  for (const entry of entries.values()) {
    batch.push(entry)
    if (batch.length === largestBatch) break
  }
  return batch
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, milliseconds))
}
