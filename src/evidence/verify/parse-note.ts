import { type FormerOrigin, isFormerOrigin } from '../../gate/journal/journal-beginning.js'
import { RecordError, readRecord } from '../../gate/record/read-record.js'
import type { NoteKind } from '../../gate/record/write-note.js'
import type { RemovalNotice } from '../../transparency/removal-notices.js'

/** What a record says about others: a notice, a request to erase or a start. What it does not say is empty, 0 or absent. */
export interface Note {
  readonly id: string
  readonly erasure: string
  readonly changed: readonly (readonly [seq: number, commitment: string])[]
  readonly finished: true | undefined
  readonly removal: RemovalNotice | undefined
  readonly formerOrigins: readonly FormerOrigin[]
  readonly keepYears: number
}

/** `undefined` if it is none. */
export function parseNote(kind: NoteKind, body: Buffer): Note | undefined {
  let note: Partial<Record<string, unknown>>
  try {
    note = { ...readRecord(kind, { body }) }
  } catch (cause) {
    if (cause instanceof RecordError) return undefined
    throw cause
  }
  const { id = '', erasure = '', changed = [], finished, formerOrigins = [], keepYears = 0 } = note
  const removal = note.firstSeq === undefined ? undefined : readRemoval(note)
  const isValid =
    typeof id === 'string' &&
    typeof erasure === 'string' &&
    Array.isArray(changed) &&
    changed.every(isChange) &&
    (finished === undefined || finished === true) &&
    Array.isArray(formerOrigins) &&
    formerOrigins.every(isFormerOrigin) &&
    Number.isSafeInteger(keepYears) &&
    removal !== null
  if (!isValid) return undefined
  return { id, erasure, changed, finished, removal, formerOrigins, keepYears: Number(keepYears) }
}

function isChange(change: unknown): boolean {
  if (!Array.isArray(change) || change.length !== 2) return false
  const [seq, commitment]: readonly unknown[] = change
  return Number.isSafeInteger(seq) && typeof commitment === 'string'
}

function readRemoval(note: Partial<Record<string, unknown>>): RemovalNotice | null {
  const [firstSeq, removedBefore, keepYears, longestKeepYears] = [
    note.firstSeq,
    note.removedBefore,
    note.keepYears,
    note.longestKeepYears,
  ].map((value) => (Number.isSafeInteger(value) ? Number(value) : undefined))
  if (firstSeq === undefined || removedBefore === undefined) return null
  if (keepYears === undefined || longestKeepYears === undefined) return null
  return { firstSeq, removedBefore, keepYears, longestKeepYears }
}
