/**
 * The record of every decision: the evidence that a call was checked, what was found and why. Records
 * that arrive together are written in one transaction, so that a busy gate pays for one disk flush per
 * batch and not per call. A record that cannot be written is reported to its caller at once, and tried
 * again until it is on disk.
 */

import type { Decision } from '../../domain/decision.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { sleep } from '../../runtime/wait.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { DecisionRow } from '../../storage/tables.js'
import { type DecisionDocument, toDecisionDocument } from '../decision-document.js'
import { findDecision } from './decision-rows.js'

/** Called with how many records wait, for each decision whose record failed, and for lost records. */
export interface JournalObserver {
  onPending(count: number): void
  onFailure(cause: unknown): void
  onLoss(count: number): void
}

interface JournalEntry {
  row: DecisionRow
  /** By {@link monotonicSeconds}. */
  readonly enqueuedAtSeconds: number
  /** Absent once the caller knows whether the first write succeeded. */
  settle: { readonly written: () => void; readonly failed: (cause: unknown) => void } | undefined
}

type JournalStorage = Pick<OpenDatabase, 'db' | 'traits' | 'runForEach'>

const maxBatchSize = 1_000
const defaultMaxWaiting = 20_000
const lockRetryDelayMs = 5
const minRetryDelayMs = 10
const maxRetryDelayMs = 2_000
/** A record that waits longer means that calls are blocked: a decision has a fraction of it. */
const maxWaitSeconds = 1
/** This many refusals in a row mean that the rows are not the cause. */
const maxConsecutiveRefusals = 3

export class Journal {
  readonly #storage: JournalStorage
  readonly #observer: JournalObserver
  readonly #maxWaiting: number
  /** By decision id, oldest first. */
  readonly #waiting = new Map<string, JournalEntry>()
  /** Failed at least once, to be tried again. */
  readonly #failed = new Map<string, JournalEntry>()
  #writing: Promise<void> | undefined
  #retrying: Promise<void> | undefined
  /** Of the last write, if it failed. */
  #lastError: unknown
  #closing = false
  #lostCount = 0

  /** `maxWaiting`: how many records wait at most, and how many failed ones are kept. */
  constructor(
    storage: JournalStorage,
    observer: JournalObserver,
    { maxWaiting = defaultMaxWaiting }: { readonly maxWaiting?: number } = {},
  ) {
    this.#storage = storage
    this.#observer = observer
    this.#maxWaiting = maxWaiting
  }

  /** Records that were given up since the start and are not on disk. */
  get lostCount(): number {
    return this.#lostCount
  }

  /** Why records that should be on disk are not, for people; `undefined` while all is well. */
  findProblem(): string | undefined {
    const cause = this.#lastError instanceof Error ? `: ${this.#lastError.message}` : ''
    if (this.#failed.size > 0) {
      return `records of ${this.#failed.size} decisions could not be written and are tried again${cause}`
    }
    const [oldest] = this.#waiting.values()
    const waitedSeconds = oldest ? monotonicSeconds() - oldest.enqueuedAtSeconds : 0
    if (waitedSeconds <= maxWaitSeconds) return undefined
    const seconds = Math.floor(waitedSeconds)
    return `records of ${this.#waiting.size} decisions wait to be written, since ${seconds} s${cause}`
  }

  /**
   * Resolves when the decision is on disk; rejects when its first write failed or too many records
   * wait. A record whose write failed is tried again all the same.
   */
  append(decision: Decision): Promise<void> {
    const row = toDecisionRow(decision)
    return new Promise((written, failed) => {
      const entry: JournalEntry = {
        row,
        enqueuedAtSeconds: monotonicSeconds(),
        settle: { written, failed },
      }
      if (this.#waiting.size < this.#maxWaiting) this.#enqueue(entry)
      else
        this.#rejectAndRetry(entry, new Error(`${this.#maxWaiting} decisions wait to be recorded`))
    })
  }

  /**
   * Replaces the record of a decision that changed after it was recorded. A record that was given up
   * because too many wait stays lost.
   */
  amend(decision: Decision): void {
    const row = toDecisionRow(decision)
    const kept = this.#waiting.get(row.id) ?? this.#failed.get(row.id)
    if (kept) kept.row = row
    else if (this.#waiting.size < this.#maxWaiting)
      this.#enqueue({ row, enqueuedAtSeconds: monotonicSeconds(), settle: undefined })
  }

  /** The record of one decision; `undefined` when the account has none of that id. */
  find(accountId: string, id: string): Promise<DecisionDocument | undefined> {
    return findDecision(this.#storage.db, accountId, id)
  }

  /** Waits until everything appended so far is on disk, failed records included. */
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

  #enqueue(entry: JournalEntry): void {
    this.#waiting.set(entry.row.id, entry)
    this.#observer.onPending(this.#waiting.size + this.#failed.size)
    this.#writing ??= this.#writeAll()
  }

  /** Waits for a turn of the event loop first, so that the requests of one turn share a flush. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      await new Promise<void>((resume) => setImmediate(resume))
      const batch = [...this.#waiting.values()].slice(0, maxBatchSize)
      const cause = await this.#write(batch, this.#waiting)
      // At the end, a lock that stays is a failure like any other.
      const mayPass = cause !== undefined && this.#isLock(cause) && !this.#closing
      if (mayPass) await sleep(lockRetryDelayMs)
      else if (cause !== undefined) await this.#writeEach(batch, this.#waiting)
      this.#observer.onPending(this.#waiting.size + this.#failed.size)
    }
    this.#writing = undefined
  }

  async #retryAll(): Promise<void> {
    let waitMs = minRetryDelayMs
    while (this.#failed.size > 0 && !this.#closing) {
      await sleep(waitMs)
      waitMs = Math.min(waitMs * 2, maxRetryDelayMs)
      const batch = [...this.#failed.values()].slice(0, maxBatchSize)
      const cause = await this.#write(batch, this.#failed)
      if (cause !== undefined) await this.#writeEach(batch, this.#failed)
      this.#observer.onPending(this.#waiting.size + this.#failed.size)
    }
    this.#retrying = undefined
  }

  #isLock(cause: unknown): boolean {
    return this.#storage.traits.isLockedElsewhere(cause)
  }

  /** One row that the database refuses must not block the calls of all the others. */
  async #writeEach(batch: readonly JournalEntry[], from: Map<string, JournalEntry>): Promise<void> {
    let refusals = 0
    let cause: unknown
    for (const entry of batch) {
      if (refusals < maxConsecutiveRefusals) cause = await this.#write([entry], from)
      if (cause === undefined) refusals = 0
      else {
        refusals += 1
        from.delete(entry.row.id)
        this.#rejectAndRetry(entry, cause)
      }
    }
  }

  /** Rejects the caller's promise, and keeps the record to try again. */
  #rejectAndRetry(entry: JournalEntry, cause: unknown): void {
    if (entry.settle) this.#observer.onFailure(cause)
    entry.settle?.failed(cause)
    entry.settle = undefined
    if (this.#failed.size < this.#maxWaiting) this.#failed.set(entry.row.id, entry)
    else this.#giveUp(1)
    if (!this.#closing) this.#retrying ??= this.#retryAll()
  }

  #giveUp(count: number): void {
    this.#lostCount += count
    this.#observer.onLoss(count)
  }

  /** Returns the cause if nothing was written. */
  async #write(batch: readonly JournalEntry[], from: Map<string, JournalEntry>): Promise<unknown> {
    const rows = batch.map((entry) => entry.row)
    try {
      await this.#storage.runForEach(upsertDecision, rows)
    } catch (cause) {
      this.#lastError = cause ?? new Error('the database gave no cause')
      return this.#lastError
    }
    this.#lastError = undefined
    for (const [index, entry] of batch.entries()) {
      // An entry amended while it was being written stays, to be written again.
      if (entry.row === rows[index]) from.delete(entry.row.id)
      entry.settle?.written()
      entry.settle = undefined
    }
    return undefined
  }
}

/** The same id again replaces the record, for an allow that was blocked before it left. */
const upsertDecision = `
  insert into decisions
    (id, account_id, decided_at, number, call_kind, decision, reason, via, what_if, body)
  values
    (@id, @account_id, @decided_at, @number, @call_kind, @decision, @reason, @via, @what_if, @body)
  on conflict (id) do update
    set decision = excluded.decision, reason = excluded.reason, body = excluded.body`

function toDecisionRow(decision: Decision): DecisionRow {
  const { request } = decision
  return {
    id: decision.id,
    account_id: decision.accountId,
    decided_at: decision.decidedAt,
    number: decision.number,
    call_kind: request.callKind,
    decision: decision.decision,
    reason: decision.reason,
    via: request.via,
    what_if: request.at === undefined ? 0 : 1,
    body: JSON.stringify(toDecisionDocument(decision)),
  }
}
