/** Reads the decisions of a time from the journal, also beside the server that writes it. */
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import { DataFileError } from '../../errors.js'
import { isPresent } from '../../runtime/folders.js'
import type { DecisionDocument } from '../record/decision-document.js'
import { type OutcomeNote, readRecord } from '../record/read-record.js'
import { findSegmentStart, JournalReader } from './journal-reader.js'
import type { JournalRecord } from './segment-format.js'

/** The interval from `since`, included, to `until`, excluded. */
export interface TimeRange {
  readonly since: Instant
  readonly until: Instant
}

export interface RecordedDecision {
  readonly document: DecisionDocument
  /** Its JSON as it was recorded. */
  readonly body: string
  /** It replaces a decision of the same id, read before, that changed before its answer left. */
  readonly isAmendment: boolean
}

/** A record is written after it is decided, usually at once; the disk may stall for a while. */
const maxWriteDelayMs = 600_000

/**
 * The decisions made in a time, in the order of their records. Throws {@link DataFileError} if there is
 * no journal, or with the place if a record cannot be read.
 */
export function* readRecordedDecisions(
  folder: string,
  range: TimeRange,
): Generator<RecordedDecision> {
  for (const record of readRecords(folder, { ...range, until: range.until + maxWriteDelayMs })) {
    const decision = readDecision(record, range)
    if (decision) yield decision
  }
}

/**
 * As {@link readRecordedDecisions}, and what was noted in that time and `outcomeDelayMs` after it about any call, also one
 * of another time.
 */
export function* readRecordedCalls(
  folder: string,
  range: TimeRange,
  outcomeDelayMs: number,
): Generator<RecordedDecision | OutcomeNote> {
  const until = range.until + Math.max(outcomeDelayMs, maxWriteDelayMs)
  for (const record of readRecords(folder, { ...range, until })) {
    if (record.kind === 'outcome') yield readRecord(record.kind, record)
    else {
      const decision = readDecision(record, range)
      if (decision) yield decision
    }
  }
}

function* readRecords(folder: string, { since, until }: TimeRange): Generator<JournalRecord> {
  if (!isPresent(folder)) throw new DataFileError(folder, 'there is no journal')
  const start = findSegmentStart(folder, since)
  if (start === undefined) return
  const reader = new JournalReader(folder, start)
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      for (const record of records) {
        if (record.at > until) return
        if (record.at >= since) yield record
      }
    }
  } finally {
    reader.close()
  }
}

function readDecision(
  { seq, kind, at, body }: JournalRecord,
  { since, until }: TimeRange,
): RecordedDecision | undefined {
  if (kind !== 'decision' && kind !== 'amendment') return undefined
  const text = body.toString()
  const document = readRecord(kind, { seq, body: text })
  const decidedAt = parseInstant(document.decidedAt) ?? at
  if (decidedAt < since || decidedAt >= until) return undefined
  return { document, body: text, isAmendment: kind === 'amendment' }
}
