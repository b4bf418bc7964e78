/**
 * The record of every decision: the evidence that a call was checked, what was found and why. Records are appended
 * to files, numbered without gaps, and never changed: what becomes of a decision later is a further record. Those
 * that arrive together share one disk flush, in a thread of its own, so that nothing here waits for a disk. A record
 * that cannot be written is reported to its caller at once, and tried again until it is on disk.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallOutcome, OutcomeRecorder } from '../../domain/call-outcome.js'
import type { Decision } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'
import { AppError, getErrorMessage } from '../../errors.js'
import { computeBackoffMs } from '../../runtime/backoff.js'
import { isPresent } from '../../runtime/folders.js'
import { monotonicSeconds, sleep } from '../../runtime/runtime.js'
import { startThread, type Thread } from '../../runtime/thread.js'
import type { KnownPosition } from '../../storage/audit/installation.js'
import { signReceipt } from '../../transparency/receipt.js'
import type { SigningKey } from '../../transparency/signed-note.js'
import { readRecord } from '../record/read-record.js'
import { withOutcome } from '../record/with-outcome.js'
import { type NoteContent, type NoteKind, writeRecord } from '../record/write-note.js'
import { writeDecision } from '../record/write-record.js'
import { DecisionIndex } from './decision-index.js'
import {
  FrameBlocks,
  type OnWritten,
  RecentCalls,
  selectBatch,
  type WaitingRecord,
} from './frame-blocks.js'
import { IndexUpdates } from './index-updates.js'
import type { JournalOptions } from './journal-options.js'
import { mergeOutcome } from './merge-outcome.js'
import { checkFolder } from './recovery/check-folder.js'
import type { RequestedErasure } from './removal/pending-erasures.js'
import { type FrameRun, maxBodyLength, type RecordKind } from './segment-format.js'
import { segmentWriting } from './segment-writer.js'
import { findSigningKey } from './tree/tree-head.js'

/** An account without a decision among so many records is not in use. */
const activeRecords = 1_000
const defaultMaxUnindexedBlocks = 128
/** Holds some 700 decisions. */
const defaultBlockBytes = 1_048_576
const defaultMaxWaiting = 20_000
const defaultMaxSegmentBytes = 67_108_864
const retryDelays = { firstMs: 10, maxMs: 2_000 }
/** Nobody waits for an outcome, so it is not worth a flush of its own. */
const outcomeDelayMs = 100
/** A record that waits longer means that calls are blocked: a decision has a fraction of it. */
const maxWaitSeconds = 1

export class Journal implements OutcomeRecorder {
  readonly #options: JournalOptions
  readonly #folder: string
  readonly #indexPath: string
  readonly #maxWaiting: number
  /** Not on disk, in their order. */
  readonly #waiting: WaitingRecord[] = []
  readonly #blocks: FrameBlocks
  readonly #recent = new RecentCalls()
  #index: DecisionIndex | undefined
  #writer: Thread<FrameRun, boolean> | undefined
  #updates: IndexUpdates | undefined
  #key: SigningKey | undefined
  /** Number of the latest decision of each account. */
  readonly #lastSeqByAccount = new Map<string, number>()
  #nextSeq = 0
  #openedSeq = 0
  #origin = ''
  /** Number of the last record on disk. */
  #durableSeq = 0
  #writing: Promise<void> | undefined
  #flushTimer: NodeJS.Timeout | undefined
  #failedAttempts = 0
  /** Of the last write, if it failed. */
  #lastError: unknown
  #isClosing = false
  #lostCount = 0
  #fault: string | undefined
  /** What the {@link SegmentWatch} has found. */
  lostSegment: string | undefined

  constructor(options: JournalOptions) {
    this.#options = options
    this.#folder = join(options.dataDir, 'journal')
    this.#indexPath = join(options.dataDir, 'index.sqlite')
    this.#maxWaiting = options.maxWaiting ?? defaultMaxWaiting
    this.#blocks = new FrameBlocks({
      blockBytes: options.blockBytes ?? defaultBlockBytes,
      maxBlocks: options.maxUnindexedBlocks ?? defaultMaxUnindexedBlocks,
    })
  }

  /** Records that are not on disk. */
  get waitingCount(): number {
    return this.#waiting.length
  }

  /** SHA-256 of its name, in hex. */
  get origin(): string {
    return this.#origin
  }

  /** Number of the first record of this process. */
  get openedSeq(): number {
    return this.#openedSeq
  }

  /** Number of the last record on disk. */
  get durableSeq(): number {
    return this.#durableSeq
  }

  /** How long the oldest of them has waited, in seconds; 0 without one. */
  get oldestWaitingSeconds(): number {
    const oldest = this.#waiting[0]
    return oldest === undefined ? 0 : monotonicSeconds() - oldest.enqueuedAtSeconds
  }

  /** Since when the oldest record on disk waits for a signed checkpoint; 0 without one. */
  get unsignedSeconds(): number {
    return this.#updates?.unsignedSeconds ?? 0
  }

  /** Of a record on disk, lately the last one; `undefined` while the index is behind. */
  get position(): KnownPosition | undefined {
    return this.#updates?.position
  }

  /** Records that were given up since the start and are not on disk. */
  get lostCount(): number {
    return this.#lostCount
  }

  /**
   * Checks the journal and begins to write to it; does nothing when it is open. Only one process may
   * have it open. Resolves when the first write has ended, also if it failed. Rejects with a {@link DataFileError}
   * that names the place if the journal is damaged, or shorter than its index or its newest checkpoint.
   */
  async open(): Promise<void> {
    if (this.#writer !== undefined) return
    const { clock, version, dataDir, databaseFiles, keepYears } = this.#options
    const { observer, installation, maxSegmentBytes = defaultMaxSegmentBytes } = this.#options
    const keyPath = findSigningKey(dataDir, this.#options.signingKeyFile)
    const folder = this.#folder
    const index = this.#openIndex()
    const checked = checkFolder({ folder, keyPath, index, now: clock.now() })
    const { origin, key, nextSeq, notTakenOver, formerOrigins, copies } = checked
    if (notTakenOver || copies > 0)
      observer.onSegmentEvent({ kind: 'recovered', notTakenOver, copies })
    this.#key = key
    this.#origin = origin.toString('hex')
    this.#nextSeq = nextSeq
    this.#openedSeq = nextSeq
    this.#durableSeq = nextSeq - 1
    for (const id of index.findAccountsOfLatest(activeRecords)) {
      this.#lastSeqByAccount.set(id, nextSeq)
    }
    const writing = { folder, origin, key, maxSegmentBytes, databaseFiles }
    this.#writer = startThread(segmentWriting, writing)
    this.#updates = new IndexUpdates({
      thread: { folder, indexPath: this.#indexPath, keepYears, keyPath },
      observer,
      blocks: this.#blocks,
      getDurableSeq: () => this.#durableSeq,
      addNotices: (contents) => {
        if (this.#isClosing) return
        for (const content of contents) this.#enqueueNote('notice', content)
        this.#flush()
      },
    })
    this.#enqueueNote('opened', { version, installation, notTakenOver, keepYears, formerOrigins })
    this.#flush()
    await this.#writing
  }

  /**
   * Calls back when the decision is on disk, or with the cause when its first write failed or too many
   * records wait. A record whose write failed is tried again all the same.
   */
  append(decision: Decision, onWritten?: OnWritten, kind: RecordKind = 'decision'): void {
    const { accountId, request } = decision
    if (request.at === undefined) this.#lastSeqByAccount.set(accountId, this.#nextSeq)
    const body = writeDecision(decision)
    const isAdded = this.#enqueue({ kind, at: decision.decidedAt, body }, decision.id, onWritten)
    if (isAdded) decision.seq = this.#nextSeq - 1
    // Of what persons dial without an Asterisk, little is asked again.
    const isKept = request.via === 'asterisk' || request.callKind !== 'manual'
    if (isAdded && isKept) this.#recent.add(decision, body)
    this.#writing ??= this.#writeAll()
  }

  /** Adds what became of a decision that changed after it was recorded. */
  amend(decision: Decision): void {
    this.append(decision, undefined, 'amendment')
  }

  /** Adds what became of a call; on disk with the next flush, or after a tenth of a second. */
  record(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void {
    const body = writeRecord('outcome', { id: decisionId, own, outcome })
    const at = this.#options.clock.now()
    if (this.#enqueue({ kind: 'outcome', at, body }, decisionId))
      this.#recent.note(decisionId, outcome)
    this.#flushAfter(outcomeDelayMs)
  }

  /** Has the number of an erasure taken out of what was appended so far. */
  erase(erasure: RequestedErasure): void {
    this.#recent.clear()
    this.#updates?.addErasure(erasure)
    this.#enqueueNote('erasure', { id: erasure.id })
    this.#flush()
  }

  /** Adds a record that is about no single decision; on disk as soon as possible if somebody waits. Returns its number if it was added. */
  note(kind: 'audit', content: NoteContent<'audit'>, onWritten?: OnWritten): number | undefined {
    const seq = this.#nextSeq
    const isAdded = this.#enqueueNote(kind, content, onWritten)
    if (onWritten) this.#flush()
    else this.#flushAfter(outcomeDelayMs)
    return isAdded ? seq : undefined
  }

  /**
   * The record of one decision with the outcome of its call, if one is known; `undefined` when the
   * account has none of that id. Finds what was appended, on disk or not. Throws `not-available` when it
   * finds none while the index is not complete, as after a crash or an upgrade. `noted` is what others know.
   */
  find(accountId: string, id: string, noted: Partial<CallOutcome> = {}) {
    const found = this.#recent.find(id) ?? this.#read(id)
    return found?.document.accountId === accountId
      ? withOutcome(found.document, mergeOutcome(found.outcome, noted))
      : undefined
  }

  #read(id: string) {
    const indexed = this.index?.find(id)
    let document = indexed?.document
    let outcome = indexed?.outcome ?? {}
    for (const { kind, body } of this.#blocks.recordsOf(id, this.#updates?.nextSeq ?? 0)) {
      if (kind !== 'outcome') document = readRecord('decision', { id, body })
      else outcome = mergeOutcome(outcome, readRecord(kind, { id, body }).outcome)
    }
    const firstSeq = this.#blocks.firstSeq ?? this.#nextSeq
    if (document === undefined && this.#updates?.isIncomplete(firstSeq)) {
      const problem = 'The index of decisions is being brought up to date; ask again in a moment'
      throw new AppError('not-available', problem)
    }
    return document && { document, outcome }
  }

  /**
   * To be called when a fault of the database was found or is gone: while there is one, nothing that is
   * decided from it may be allowed.
   */
  setFault(fault: string | undefined): void {
    this.#fault = fault
  }

  /** Accounts with a decision, other than a what-if, among the latest records. */
  listActiveAccounts(): ReadonlySet<string> {
    const accounts = [...this.#lastSeqByAccount]
    return new Set(
      accounts.flatMap(([id, seq]) => (this.#nextSeq - seq > activeRecords ? [] : [id])),
    )
  }

  /** For searches; a moment behind the journal. `undefined` while nothing was ever recorded. */
  get index(): DecisionIndex | undefined {
    return this.#index ?? (isPresent(this.#indexPath) ? this.#openIndex() : undefined)
  }

  /** Why records that should be on disk are not, or which one is not as it was signed, for people; `undefined` while all is well. */
  findProblem(): string | undefined {
    const count = this.#waiting.length
    if (count === 0) return this.lostSegment ?? this.#updates?.forgery
    const records = count === 1 ? '1 record' : `${count} records`
    if (this.#failedAttempts > 0) {
      const why = getErrorMessage(this.#lastError)
      return `${records} could not be written to the journal; writing is tried again: ${why}`
    }
    const waitedSeconds = this.oldestWaitingSeconds
    if (waitedSeconds <= maxWaitSeconds) return undefined
    return `${records} to be written to the journal, the first for ${Math.floor(waitedSeconds)} s`
  }

  /** Waits until everything appended so far is on disk, failed records included, and in the index. */
  async drain(): Promise<void> {
    do {
      while (this.#waiting.length > 0 || this.#writing) {
        this.#flush()
        await this.#writing
        if (this.#failedAttempts > 0) await sleep(retryDelays.firstMs)
      }
      // May add notices of what is erased and removed.
      await this.#updates?.drain()
    } while (this.#waiting.length > 0)
  }

  /** Tries once more what has failed; what cannot be written then is lost and reported. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#writing
    if (this.#waiting.length > 0) {
      this.#flush()
      await this.#writing
    }
    clearTimeout(this.#flushTimer)
    if (this.#waiting.length > 0) this.#giveUp(this.#waiting.length)
    this.#waiting.length = 0
    await this.#updates?.close()
    await this.#writer?.close()
    this.#index?.close()
  }

  #openIndex(): DecisionIndex {
    this.#index ??= new DecisionIndex(this.#indexPath, this.#folder, this.#options.indexForm)
    return this.#index
  }

  /** Adds a receipt for a person. Resolves to it, signed, once its record is on disk; rejects if that fails. */
  addReceipt(content: NoteContent<'receipt'>): Promise<string> {
    const body = writeRecord('receipt', content)
    return new Promise((resolve, reject) => {
      const [seq, at] = [this.#nextSeq, this.#options.clock.now()]
      const onWritten = (cause?: unknown) => {
        if (cause === undefined && this.#key) resolve(signReceipt({ seq, body }, this.#key))
        else reject(cause ?? new Error('the journal is not open'))
      }
      this.#enqueue({ kind: 'receipt', at, body }, '', onWritten)
      this.#flush()
    })
  }

  #enqueueNote<K extends NoteKind>(kind: K, content: NoteContent<K>, onWritten?: OnWritten) {
    const body = writeRecord(kind, content)
    return this.#enqueue({ kind, at: this.#options.clock.now(), body }, '', onWritten)
  }

  #enqueue(
    record: { readonly kind: RecordKind; readonly at: Instant; readonly body: string },
    decisionId = '',
    onWritten?: OnWritten,
  ): boolean {
    const { observer } = this.#options
    const { kind, at } = record
    const isOpen = this.#writer !== undefined && !this.#isClosing
    const isTooLong = record.body.length > maxBodyLength
    if (!isOpen || this.#waiting.length >= this.#maxWaiting || isTooLong) {
      const cause = new Error(
        isTooLong
          ? `the record has ${record.body.length} characters; it must have at most ${maxBodyLength}`
          : isOpen
            ? 'too many records wait to be written to the journal'
            : 'the journal is not open',
      )
      this.#giveUp(1)
      observer.onFailure()
      if (kind === 'decision') observer.onUnrecorded(decisionId, cause)
      onWritten?.(cause)
      return false
    }
    const block = this.#blocks.append(kind, this.#nextSeq, at, record.body)
    this.#nextSeq += 1
    this.#waiting.push({
      block,
      end: block.size,
      at,
      decisionId,
      onWritten,
      startsSegment: kind === 'erasure',
      isSettled: kind !== 'decision' && onWritten === undefined,
      enqueuedAtSeconds: monotonicSeconds(),
    })
    return true
  }

  #flushAfter(ms: number): void {
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined
      this.#flush()
    }, ms).unref()
  }

  #flush(): void {
    this.#writing ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    // The requests of one turn of the event loop share a flush.
    await nextTurn()
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    try {
      while (this.#waiting.length > 0) {
        const batch = selectBatch(this.#waiting)
        const startedSeconds = monotonicSeconds()
        const isIntact = await this.#writer?.ask(batch.run)
        this.#options.observer.onFlushed(monotonicSeconds() - startedSeconds)
        // The batch is on disk: what fails from here on must not have it written again.
        if (isIntact !== true || this.#fault !== undefined) {
          this.#fault = await this.#options.checkFault().catch(getErrorMessage)
        }
        this.#acknowledge(batch.records)
      }
    } catch (cause) {
      this.#refuseAll(cause)
    }
    this.#writing = undefined
    this.#updates?.schedule()
  }

  #acknowledge(batch: readonly WaitingRecord[]): void {
    this.#failedAttempts = 0
    this.#waiting.splice(0, batch.length)
    this.#durableSeq += batch.length
    const { observer } = this.#options
    const cause = this.#fault === undefined ? undefined : new Error(this.#fault)
    for (const entry of batch) {
      entry.block.writtenSize = entry.end
      if (cause) this.#refuse(entry, cause)
      else if (!entry.isSettled) {
        entry.isSettled = true
        observer.onWritten(entry.at)
        entry.onWritten?.()
      }
    }
  }

  #refuse(entry: WaitingRecord, cause: unknown): void {
    if (entry.isSettled) return
    entry.isSettled = true
    if (entry.decisionId !== '') this.#options.observer.onUnrecorded(entry.decisionId, cause)
    entry.onWritten?.(cause)
  }

  /** The callers learn it at once; the records are tried again, and each new one tries at once as well. */
  #refuseAll(cause: unknown): void {
    this.#lastError = cause
    this.#failedAttempts += 1
    for (const entry of this.#waiting) {
      if (!entry.isSettled) this.#options.observer.onFailure()
      this.#refuse(entry, cause)
    }
    if (this.#isClosing) return
    this.#flushAfter(computeBackoffMs(this.#failedAttempts, retryDelays))
  }

  #giveUp(count: number): void {
    this.#lostCount += count
    this.#options.observer.onLoss(count)
  }
}
