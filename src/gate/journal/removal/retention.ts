/**
 * Removes the oldest segments once all of their records are older than they must be kept: first the
 * journal is said to begin after them, then the index forgets them, then the files go. What a crash leaves
 * undone is done later, as long as the file exists.
 */
import { rmSync } from 'node:fs'
import type { Instant } from '../../../domain/time/clock.js'
import { addMonths, msPerDay, toCalendarDate, toUtcDay } from '../../../domain/time/dates.js'
import { syncFolder } from '../../../runtime/folders.js'
import type { DecisionIndex } from '../decision-index.js'
import { type JournalBeginning, readBeginning, writeBeginning } from '../journal-beginning.js'
import {
  JournalReader,
  listSegments,
  readSegmentHeader,
  type Segment,
  segmentPath,
} from '../journal-reader.js'
import { isOfDecision } from '../segment-format.js'

/** A clock that is wrong for less than this removes nothing. */
const daysOfClock = 8

/**
 * Decisions before this instant are removed: the beginning of a month in UTC. The time is taken from the
 * journal, as the earliest of its last eight days. `undefined` while it has fewer.
 */
export function findCutoff(segments: readonly Segment[], keepYears: number): Instant | undefined {
  const days = new Set<number>()
  for (const { path } of segments.toReversed()) {
    const header = readSegmentHeader(path)
    if (header) days.add(toUtcDay(header.createdAt))
    if (days.size < daysOfClock) continue
    const today = Math.min(...days)
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
  /** Number of the first record that is left. */
  readonly firstSeq: number
}

interface RetentionOptions {
  /** Of the journal. */
  readonly folder: string
  readonly keepYears: number
}

export class Retention {
  readonly #options: RetentionOptions
  readonly #index: DecisionIndex
  /** The newest segment when nothing more was to be removed. */
  #checkedSegment: number | undefined
  #removed: RemovedSegments | undefined

  constructor(options: RetentionOptions, index: DecisionIndex) {
    this.#options = options
    this.#index = index
  }

  /** Whether {@link Retention.removeNext} has removed something, and may find more. */
  get isRemoving(): boolean {
    return this.#removed !== undefined
  }

  /**
   * Removes the oldest segment if it has expired, and only then; every record up to the newest segment
   * must be in the index. Returns what was removed in all once there is nothing more to remove.
   */
  removeNext(): RemovedSegments | undefined {
    const { folder, keepYears } = this.#options
    const segments = listSegments(folder)
    const [oldest, next] = segments
    const newest = segments.at(-1)
    if (oldest === undefined || next === undefined) return undefined
    if (newest?.firstSeq === this.#checkedSegment) return undefined
    const begins = readBeginning(folder)
    const cutoff = findCutoff(segments, keepYears)
    const isLeftOver = oldest.firstSeq < begins.firstSeq
    if (!isLeftOver && (cutoff === undefined || !isExpired(folder, oldest, next, cutoff))) {
      this.#checkedSegment = newest?.firstSeq
      const removed = this.#removed
      this.#removed = undefined
      return removed
    }
    const firstSeq = Math.max(begins.firstSeq, next.firstSeq)
    const before = Math.max(begins.removedBefore, cutoff ?? 0)
    const beginsNow = { firstSeq, removedBefore: before }
    if (!isLeftOver) writeBeginning(folder, beginsNow, `journal.keepYears: ${keepYears}`)
    const decisions = this.#removeFromIndex(oldest, next, beginsNow)
    removeFiles(folder, oldest)
    const { segments: earlier = 0, decisions: earlierDecisions = 0 } = this.#removed ?? {}
    this.#removed = {
      segments: earlier + 1,
      decisions: earlierDecisions + decisions,
      before,
      firstSeq,
    }
    return undefined
  }

  /** Returns how many decisions there were. While the file exists, this is done again after a crash. */
  #removeFromIndex(segment: Segment, next: Segment, begins: JournalBeginning): number {
    this.#index.setBeginning(begins)
    this.#index.removeCarriedOver()
    const ids = new Set<string>()
    for (const { kind, body } of readSegment(this.#options.folder, segment, next)) {
      if (!isOfDecision(kind)) continue
      const { id }: { readonly id: string } = JSON.parse(body.toString())
      ids.add(id)
    }
    return this.#index.remove(ids, next.firstSeq)
  }
}

/** By a clock that was behind, records of today may look old, but not those after it was set. */
const longestPauseMs = 31 * msPerDay

/** Whether its newest record is older, and the next segment does not begin long after. */
function isExpired(folder: string, segment: Segment, next: Segment, cutoff: Instant): boolean {
  const [header, nextHeader] = [readSegmentHeader(segment.path), readSegmentHeader(next.path)]
  if (header === undefined || header.createdAt >= cutoff) return false
  if (nextHeader === undefined || nextHeader.createdAt >= cutoff + longestPauseMs) return false
  for (const { at } of readSegment(folder, segment, next)) if (at >= cutoff) return false
  return true
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
