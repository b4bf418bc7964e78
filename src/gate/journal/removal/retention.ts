/**
 * Removes the oldest segments once all of their records are older than they must be kept, a few at a time: each is compared
 * with the tree, a notice of their removal is written and signed, the journal is said to begin after them, then the index
 * forgets them, then the files go. What a crash leaves undone is done later, as long as the file exists. Times are those of
 * signed entries, since anyone who can write the files can change the dates in headers.
 */
import { rmSync } from 'node:fs'
import type { Instant } from '../../../domain/time/clock.js'
import { addMonths, msPerDay, toCalendarDate, toUtcDay } from '../../../domain/time/dates.js'
import { syncFolder } from '../../../runtime/folders.js'
import type { RemovalNotice } from '../../../transparency/removal-notices.js'
import { readRecord } from '../../record/read-record.js'
import type { DecisionIndex } from '../decision-index.js'
import { type JournalBeginning, writeBeginning } from '../journal-beginning.js'
import { JournalReader, listSegments, type Segment, segmentPath } from '../journal-reader.js'
import { readSignedBeginning } from '../recovery/signed-beginning.js'
import { isOfDecision, type JournalRecord } from '../segment-format.js'
import type { SignedTree } from '../tree/signed-tree.js'
import { AwaitedNotices } from './awaited-notices.js'
import { createDayCounter } from './journal-day.js'
import { SignedRecords } from './signed-records.js'

/** Removed by one notice, so that a server that is often killed gets on. */
const maxSegments = 16

/** Records before this instant are removed: the beginning of a month in UTC. `undefined` while it is not known what day it is. */
function findCutoff(daysFromNewest: Iterable<number>, keepYears: number): Instant | undefined {
  const addDay = createDayCounter()
  for (const day of daysFromNewest) {
    const today = addDay(day)
    if (today === undefined) continue
    const firstOfMonth = today - toCalendarDate(today).day + 1
    return addMonths(firstOfMonth, -12 * keepYears) * msPerDay
  }
  return undefined
}

export interface RemovedSegments {
  readonly segments: number
  readonly decisions: number
  /** Every decision before this instant is gone. */
  readonly before: Instant
}

interface RetentionOptions {
  /** Of the journal. */
  readonly folder: string
  readonly keepYears: number
}

/** What is to be removed. */
interface Removal {
  readonly before: Instant
  /** How many were compared. */
  readonly segments: number
  /** Number of the first record that stays. */
  readonly firstSeq: number
  readonly longestKeepYears: number
  notices: AwaitedNotices | undefined
}

export class Retention {
  readonly #options: RetentionOptions
  readonly #index: DecisionIndex
  /** The day of each segment, by its first record. */
  readonly #days = new Map<number, number>()
  #begins: JournalBeginning | undefined
  /** The newest segment when nothing more was to be removed. */
  #checkedSegment: number | undefined
  #removal: Removal | undefined
  #removed: RemovedSegments | undefined
  /** A start goes on with what a kill has left, also without a new record. */
  #hasLooked = false

  constructor(options: RetentionOptions, index: DecisionIndex) {
    this.#options = options
    this.#index = index
  }

  /** Whether {@link Retention.removeNext} was not called yet, or has begun to remove something and may find more. */
  get isRemoving(): boolean {
    const removal = this.#removal
    if (removal === undefined) return !this.#hasLooked || this.#removed !== undefined
    const { notices } = removal
    return notices === undefined || notices.isDue || notices.lastSeq !== undefined
  }

  /** Number of the last record that must be signed before the next step; 0 if there is none. */
  get awaitedSeq(): number {
    return this.#removal?.notices?.lastSeq ?? 0
  }

  /** Is given each notice that is in the journal. */
  addNotice(record: JournalRecord): void {
    this.#removal?.notices?.add(record)
  }

  /**
   * Does the next step with a segment; every record up to the newest segment must be in the index, and signed. Returns a
   * notice to be added to the journal, or what was removed in all once there is nothing more to remove. Throws
   * {@link ChangedRecordError} if a record that has expired is not as it was signed.
   */
  removeNext(tree: SignedTree): readonly object[] | RemovedSegments | undefined {
    this.#hasLooked = true
    const { folder } = this.#options
    const segments = listSegments(folder)
    const [oldest, next] = segments
    if (oldest === undefined || next === undefined) return undefined
    this.#begins ??= readSignedBeginning(folder, tree)
    const begins = this.#begins
    if (next.firstSeq <= begins.firstSeq) {
      this.#removeOldest(oldest, next, begins)
      return undefined
    }
    if (this.#removal?.notices) return this.#continue(this.#removal, this.#removal.notices)
    const newest = segments.at(-1)?.firstSeq
    if (newest === this.#checkedSegment) return undefined
    if (this.#compareNext(segments, tree)) return undefined
    if (this.#removal) {
      const { firstSeq, before: removedBefore, longestKeepYears } = this.#removal
      const { keepYears } = this.#options
      const notice: RemovalNotice = { firstSeq, removedBefore, keepYears, longestKeepYears }
      this.#removal.notices = new AwaitedNotices([notice])
      return this.#removal.notices.take()
    }
    this.#checkedSegment = newest
    const removed = this.#removed
    this.#removed = undefined
    return removed
  }

  /** Whether the next segment is to be removed, too. */
  #compareNext(segments: readonly Segment[], tree: SignedTree): boolean {
    const { folder, keepYears } = this.#options
    const { segments: compared = 0, firstSeq = 0 } = this.#removal ?? {}
    let { longestKeepYears = keepYears } = this.#removal ?? {}
    const at = segments.findIndex((one) => one.firstSeq >= firstSeq)
    const [segment, next] = [segments[at], segments[at + 1]]
    const before = this.#removal?.before ?? findCutoff(this.#listDays(segments, tree), keepYears)
    if (segment === undefined || next === undefined || before === undefined) return false
    const entryOf = compared < maxSegments && readExpired(segment, next, { before, tree })
    if (!entryOf) return false
    const signed = new SignedRecords(folder, tree, this.#index)
    for (const record of readSegment(folder, segment, next)) {
      signed.require(record, entryOf(record.seq), segment.path)
      const { kind } = record
      if (kind !== 'opened' && kind !== 'notice') continue
      const note: Partial<RemovalNotice> = readRecord(kind, record)
      longestKeepYears = Math.max(longestKeepYears, note.keepYears ?? 0, note.longestKeepYears ?? 0)
    }
    this.#removal = {
      before,
      segments: compared + 1,
      firstSeq: next.firstSeq,
      longestKeepYears,
      notices: undefined,
    }
    return true
  }

  /** From the newest segment on. */
  *#listDays(segments: readonly Segment[], tree: SignedTree): Generator<number> {
    for (const { firstSeq } of segments.toReversed()) {
      if (firstSeq > tree.size) continue
      const day = this.#days.get(firstSeq) ?? toUtcDay(tree.readTime(firstSeq))
      this.#days.set(firstSeq, day)
      yield day
    }
  }

  #continue(removal: Removal, notices: AwaitedNotices): readonly object[] | undefined {
    const { lastSeq } = notices
    if (lastSeq === undefined) return notices.take()
    const { firstSeq, before } = removal
    this.#begins = { firstSeq, removedBefore: before, notice: lastSeq }
    writeBeginning(this.#options.folder, this.#begins)
    this.#removal = undefined
    this.#removed ??= { segments: 0, decisions: 0, before }
    return undefined
  }

  #removeOldest(oldest: Segment, next: Segment, begins: JournalBeginning): void {
    const decisions = this.#removeFromIndex(oldest, next, begins)
    removeFiles(this.#options.folder, oldest)
    const { segments: earlier = 0, decisions: earlierDecisions = 0 } = this.#removed ?? {}
    this.#removed = {
      segments: earlier + 1,
      decisions: earlierDecisions + decisions,
      before: begins.removedBefore,
    }
  }

  /** Returns how many decisions there were. While the file exists, this is done again after a crash. */
  #removeFromIndex(segment: Segment, next: Segment, begins: JournalBeginning): number {
    this.#index.setBeginning(begins)
    const ids = new Set<string>()
    for (const { seq, kind, body } of readSegment(this.#options.folder, segment, next)) {
      if (!isOfDecision(kind)) continue
      ids.add(readRecord(kind, { seq, body }).id)
    }
    return this.#index.remove(ids, next.firstSeq)
  }
}

/** By a clock that was behind, records of today may look old, but not those after it was set. */
const longestPauseMs = 31 * msPerDay

/** The entries of a segment, if all of its records are older and the next one does not begin long after. */
function readExpired(
  { firstSeq }: Segment,
  next: Segment,
  { before, tree }: { readonly before: Instant; readonly tree: SignedTree },
): ReturnType<SignedTree['readEntries']> | undefined {
  if (tree.readTime(firstSeq) >= before) return undefined
  const entryOf = tree.readEntries([firstSeq, next.firstSeq])
  if (entryOf(next.firstSeq).at >= before + longestPauseMs) return undefined
  for (let seq = firstSeq; seq < next.firstSeq; seq += 1) {
    if (entryOf(seq).at >= before) return undefined
  }
  return entryOf
}

function* readSegment(folder: string, segment: Segment, next: Segment) {
  const reader = new JournalReader(folder, segment.firstSeq)
  try {
    while (reader.nextSeq < next.firstSeq) yield* reader.read(next.firstSeq - 1)
  } finally {
    reader.close()
  }
}

/** Either form, or both after a crash while it was compressed. */
function removeFiles(folder: string, { firstSeq }: Segment): void {
  const path = segmentPath(folder, firstSeq)
  for (const form of [path, `${path}.gz`]) rmSync(form, { force: true })
  syncFolder(folder)
}
