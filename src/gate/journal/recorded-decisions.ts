/** Reads the decisions of a time from the journal, also beside the server that writes it. */
import { existsSync } from 'node:fs'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import { DataFileError } from '../../errors.js'
import type { DecisionDocument } from '../decision-document.js'
import { findSegmentStart, JournalReader } from './journal-reader.js'

/** The interval from `since`, included, to `until`, excluded. */
export interface TimeRange {
  readonly since: Instant
  readonly until: Instant
}

export interface RecordedDecision {
  readonly document: DecisionDocument
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
  { since, until }: TimeRange,
): Generator<RecordedDecision> {
  if (!existsSync(folder)) throw new DataFileError(folder, 'there is no journal')
  const start = findSegmentStart(folder, since)
  if (start === undefined) return
  const reader = new JournalReader(folder, start)
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      for (const { kind, at, body } of records) {
        if (at > until + maxWriteDelayMs) return
        if ((kind !== 'decision' && kind !== 'amendment') || at < since) continue
        const document: DecisionDocument = JSON.parse(body.toString())
        const decidedAt = parseInstant(document.decidedAt) ?? at
        if (decidedAt < since || decidedAt >= until) continue
        yield { document, isAmendment: kind === 'amendment' }
      }
    }
  } finally {
    reader.close()
  }
}
