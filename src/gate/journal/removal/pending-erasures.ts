/**
 * Carries out erasures on the segments of a journal, one segment at a time: first finds the records that have the number, and
 * compares each with what was signed, then has notices of what they become written and signed, then replaces the segments.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { commitTo } from '../../../transparency/log-entry.js'
import type { ErasureNotice } from '../../../transparency/removal-notices.js'
import type { DecisionIndex } from '../decision-index.js'
import { listSegments, type Segment } from '../journal-reader.js'
import type { JournalRecord } from '../segment-format.js'
import { changedRecord, type SignedTree } from '../tree/signed-tree.js'
import { AwaitedNotices } from './awaited-notices.js'
import { NumberEraser, type NumberErasure } from './erase-records.js'
import { eraseFromSegment, type SegmentToErase, searchSegment } from './erase-segment.js'
import { SignedRecords } from './signed-records.js'

export interface FinishedErasure {
  readonly id: string
  /** Decisions without the number now. */
  readonly erased: number
  /** Decisions that still have it, since they allowed a call. */
  readonly kept: number
}

/** As `callgate erase` stored it in the database, where the number is until it is done. */
export interface RequestedErasure extends NumberErasure {
  readonly id: string
}

interface PendingErasure extends RequestedErasure {
  readonly beforeSeq: number
}

interface StartedErasure {
  readonly id: string
  readonly eraser: NumberEraser
  /** First sequence numbers of the segments to search, and of those that have the number. */
  readonly toSearch: number[]
  readonly toReplace: number[]
  /** What each record commits to once the number is erased, in base64. */
  readonly changes: Map<number, string>
  /** Records that an attempt which a crash has ended may have changed. */
  readonly begun: ReadonlySet<number>
  notices: AwaitedNotices | undefined
}

/** In one notice, whose body must not be too long for a record. */
const maxChanges = 4_000

export class PendingErasures {
  readonly #folder: string
  readonly #index: DecisionIndex
  readonly #pending: PendingErasure[] = []
  /** The first of the pending ones, once it has begun. */
  #started: StartedErasure | undefined

  /** The index is that of the journal. */
  constructor(folder: string, index: DecisionIndex) {
    this.#folder = folder
    this.#index = index
  }

  /** Whether {@link PendingErasures.continue} has something to do. */
  get hasWork(): boolean {
    if (this.#pending.length === 0) return false
    const notices = this.#started?.notices
    return notices === undefined || notices.isDue || notices.lastSeq !== undefined
  }

  /** Number of the last record that must be signed before the next step; 0 if there is none. */
  get awaitedSeq(): number {
    return this.#started?.notices?.lastSeq ?? 0
  }

  /** Adds one, for the segments before a record. Does nothing if it is pending already. */
  add(erasure: PendingErasure): void {
    if (!this.#pending.some(({ id }) => id === erasure.id)) this.#pending.push(erasure)
  }

  /** Is given each notice that is in the journal. */
  addNotice(record: JournalRecord): void {
    this.#started?.notices?.add(record)
  }

  /**
   * Does the next segment. Returns notices to be added to the journal, or an erasure that is done. Throws
   * {@link ChangedRecordError} if a record is not as it was signed. When it throws, the same segment is tried again by the
   * next call.
   */
  continue(tree: SignedTree): readonly object[] | FinishedErasure | undefined {
    const [pending] = this.#pending
    if (pending === undefined) return undefined
    this.#started ??= this.#start(pending)
    const started = this.#started
    const [toSearch] = started.toSearch
    if (toSearch !== undefined) {
      this.#search(toSearch, started, tree)
      started.toSearch.shift()
      return undefined
    }
    started.notices ??= new AwaitedNotices(listNotices(started))
    if (started.notices.lastSeq === undefined) return started.notices.take()
    const [toReplace] = started.toReplace
    if (toReplace === undefined) return this.#finish(started)
    this.#replace(toReplace, started)
    started.toReplace.shift()
    return undefined
  }

  #start({ id, beforeSeq, ...erasure }: PendingErasure): StartedErasure {
    // What a crash left of a segment that was compressed or replaced, and what starts have set aside, may have the number.
    for (const name of readdirSync(this.#folder)) {
      if (/\.(?:cut|erased|tmp)$/.test(name)) rmSync(join(this.#folder, name), { force: true })
    }
    const segments = listSegments(this.#folder).map(({ firstSeq }) => firstSeq)
    return {
      id,
      eraser: new NumberEraser(erasure),
      toSearch: segments.filter((firstSeq) => firstSeq < beforeSeq),
      toReplace: [],
      changes: new Map(),
      begun: new Set(this.#index.listErasing(id)),
      notices: undefined,
    }
  }

  /** Retention may have removed the segment since, and it may have been compressed. */
  #findSegment(firstSeq: number): SegmentToErase | undefined {
    const segments = listSegments(this.#folder)
    const at = segments.findIndex((segment) => segment.firstSeq === firstSeq)
    const [found, next]: readonly (Segment | undefined)[] = [segments[at], segments[at + 1]]
    return found && next && { ...found, endSeq: next.firstSeq }
  }

  #search(firstSeq: number, started: StartedErasure, tree: SignedTree): void {
    const segment = this.#findSegment(firstSeq)
    if (segment === undefined) return
    const { eraser, changes, begun, toReplace } = started
    const signed = new SignedRecords(this.#folder, tree, this.#index)
    let entryOf: ReturnType<SignedTree['readEntries']> | undefined
    const isFound = searchSegment(segment, eraser, (record, left) => {
      if (left === undefined && !begun.has(record.seq)) return
      entryOf ??= tree.readEntries([firstSeq, segment.endSeq - 1])
      signed.require(record, entryOf(record.seq), segment.path)
      if (left) changes.set(left.seq, commitTo(left.salt, left.body).toString('base64'))
    })
    if (isFound) toReplace.push(firstSeq)
  }

  #replace(firstSeq: number, { eraser, changes }: StartedErasure): void {
    const segment = this.#findSegment(firstSeq)
    if (segment === undefined) return
    eraseFromSegment(segment, eraser, ({ seq }, left) => {
      if (left === undefined) return
      const isNoticed = changes.get(seq) === commitTo(left.salt, left.body).toString('base64')
      if (!isNoticed) throw changedRecord(segment.path, seq)
      this.#index.erase(left)
    })
  }

  #finish({ id, eraser }: StartedErasure): FinishedErasure {
    this.#index.flush()
    this.#started = undefined
    this.#pending.shift()
    return { id, ...eraser.counts }
  }
}

function listNotices({ id, changes }: StartedErasure): readonly ErasureNotice[] {
  const all = [...changes]
  const notices: ErasureNotice[] = []
  for (let start = 0; start < all.length; start += maxChanges) {
    notices.push({ erasure: id, changed: all.slice(start, start + maxChanges) })
  }
  return notices
}
