/** Checks a journal at the start. */
import { closeSync, fsyncSync, ftruncateSync, openSync } from 'node:fs'
import { DataFileError } from '../../../errors.js'
import { readBeginning, readFormerOrigins } from '../journal-beginning.js'
import { hashOriginName } from '../journal-origin.js'
import {
  JournalReader,
  listSegments,
  readSegmentHeader,
  type Segment,
  segmentPath,
} from '../journal-reader.js'
import { isCompressed, readAt } from '../segment-file.js'
import { checksumSeedOf, decodeFrame } from '../segment-format.js'

export interface RecoveredJournal {
  /** Of the next record to be written. */
  readonly nextSeq: number
  /** Bytes of an unfinished write that were removed. Nobody was told of what they held. */
  readonly removedBytes: number
}

/**
 * Checks a journal at the start, from the newest segment on or from record `fromSeq`, the first that is not
 * in its index, and removes what a crash left of an unfinished write. Throws {@link DataFileError} with the
 * place if anything else does not add up.
 */
export function recoverJournal(folder: string, origin: Buffer, fromSeq: number): RecoveredJournal {
  const segments = listSegments(folder)
  const last = segments.at(-1)
  const { firstSeq } = readBeginning(folder)
  requireFirstSegment(folder, segments, firstSeq)
  if (last === undefined) {
    requireLength(folder, 1, fromSeq)
    return { nextSeq: 1, removedBytes: 0 }
  }
  const origins = [origin, ...readFormerOrigins(folder).map((one) => hashOriginName(one.origin))]
  for (const segment of segments) requireOrigin(segment, origins, segment === last)
  const reader = new JournalReader(folder, Math.max(firstSeq, Math.min(fromSeq, last.firstSeq)))
  try {
    while (reader.read().length > 0) {
      // Each record is checked as it is read.
    }
    const { offset, nextSeq } = reader
    const removedBytes = removeTornTail(last, nextSeq, offset)
    requireLength(folder, nextSeq, fromSeq)
    return { nextSeq, removedBytes }
  } finally {
    reader.close()
  }
}

function requireLength(folder: string, nextSeq: number, indexedSeq: number): void {
  if (nextSeq >= indexedSeq) return
  const rule = `ends with record ${nextSeq - 1}, but its index has record ${indexedSeq - 1}`
  throw new DataFileError(folder, `the journal ${rule}. Restore a later backup of the folder`)
}

/** Throws if the segment with which the journal begins is missing. A journal may have none at all. */
function requireFirstSegment(folder: string, segments: readonly Segment[], begins: number): void {
  const [oldest] = segments
  if (oldest === undefined ? begins === 1 : oldest.firstSeq <= begins) return
  const found = oldest === undefined ? 'there is none' : `the oldest is ${oldest.path}`
  const rule = `the segment with record ${begins}, with which the journal begins, is missing: ${found}`
  throw new DataFileError(segmentPath(folder, begins), `${rule}. Restore it from a backup`)
}

/** The header of the newest segment may be unfinished. */
function requireOrigin(segment: Segment, origins: readonly Buffer[], isLast: boolean): void {
  const { path } = segment
  const header = readSegmentHeader(path)
  if (header === undefined) {
    if (!isLast) throw new DataFileError(path, 'the header of the segment cannot be read')
  } else if (!origins.some((origin) => header.origin.equals(origin))) {
    throw new DataFileError(
      path,
      'the segment belongs to another journal; move it out of the folder',
    )
  }
}

/** Returns how many bytes that were. Without a whole header there is nothing in the file. */
function removeTornTail(segment: Segment, nextSeq: number, end: number): number {
  const { path, firstSeq } = segment
  // It was complete when it was compressed.
  if (isCompressed(path)) return 0
  const file = openSync(path, 'r+')
  try {
    const tail = readAt(file, end, Number.MAX_SAFE_INTEGER)
    if (tail.length === 0) return 0
    const checksumSeed = checksumSeedOf(firstSeq)
    for (let offset = 8; offset < tail.length; offset += 8) {
      if (decodeFrame(tail, offset, checksumSeed) === undefined) continue
      const place = `record ${nextSeq} cannot be read, at byte ${end}, but the one at byte ${end + offset} can`
      const advice = 'Restore the file from a backup'
      throw new DataFileError(path, `the journal is damaged: ${place}. ${advice}`)
    }
    ftruncateSync(file, end)
    fsyncSync(file)
    return tail.length
  } finally {
    closeSync(file)
  }
}
