/** Checks a journal at the start. */
import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { countLossFirst, DataFileError } from '../../../errors.js'
import { moveIntoPlace } from '../../../runtime/folders.js'
import { toPublicKey } from '../../../transparency/signed-note.js'
import { readBeginning, readFormerOrigins } from '../journal-beginning.js'
import { hashOriginName } from '../journal-origin.js'
import { listSegments, readSegmentHeader, type Segment, segmentPath } from '../journal-reader.js'
import { isCompressed, SegmentFile } from '../segment-file.js'
import { decodeHeader, headerBytes } from '../segment-format.js'
import { treeFolder } from '../tree/tree-files.js'
import type { TreeHead } from '../tree/tree-head.js'
import {
  countRecords,
  type FollowedEnd,
  findSealedEnd,
  type GroupsToFollow,
  isUnfinishedGroup,
  type SealedEnd,
} from './sealed-groups.js'

/** What follows the end that the journal has sealed: a write that a crash ended, or what somebody else has put there. */
export interface NotTakenOver {
  /** In the folder of the journal, with these bytes; nothing reads it. */
  readonly file: string
  readonly bytes: number
  /** In hex. */
  readonly sha256: string
  /** How many whole records it has. */
  readonly records: number
}

export interface RecoveredJournal {
  /** Of the next record to be written. */
  readonly nextSeq: number
  /** None of it was acknowledged. */
  readonly notTakenOver: NotTakenOver | undefined
  /** How many records there are once more; each counts once. */
  readonly copies: number
}

export interface KnownRecords {
  /** What was signed, and the key that seals; `undefined` if there is no tree, and so no record. */
  readonly tree: TreeHead | undefined
  /** Of the first record that is not in the index. */
  readonly fromSeq: number
}

/**
 * Checks a journal at the start, from the newest segment, record `fromSeq` or the first one that is not signed on, whichever
 * comes first. Takes over the groups that the journal has sealed, and sets aside what a crash left of the last one. Throws
 * {@link DataFileError} with the place if anything else does not add up, and has changed nothing then.
 */
export function recoverJournal(
  folder: string,
  origin: Buffer,
  { tree, fromSeq }: KnownRecords,
): RecoveredJournal {
  const segments = listSegments(folder)
  const last = segments.at(-1)
  const { firstSeq } = readBeginning(folder)
  requireFirstSegment(folder, segments, firstSeq)
  const signedSeq = tree?.head.size ?? 0
  const known = { signedSeq, fromSeq }
  if (last === undefined) {
    requireLength(folder, 1, known)
    return { nextSeq: 1, notTakenOver: undefined, copies: 0 }
  }
  if (tree === undefined) {
    const rule = 'the signed tree of the journal is missing, although there are records'
    throw new DataFileError(
      treeFolder(folder),
      `${rule}. Restore it from a backup${countLossFirst}`,
    )
  }
  const origins = [origin, ...readFormerOrigins(folder).map((one) => hashOriginName(one.origin))]
  for (const segment of segments) requireOrigin(segment, origins, segment === last)
  const key = toPublicKey(tree.key)
  const start = Math.max(firstSeq, Math.min(fromSeq, last.firstSeq, signedSeq + 1))
  const first = segments.findLastIndex((segment) => segment.firstSeq <= start)
  let end: FollowedEnd = { nextSeq: last.firstSeq, offset: 0, copies: 0 }
  let copies = 0
  for (let index = Math.max(0, first); index < segments.length; index += 1) {
    const segment = segments[index] as Segment
    const endSeq = segments[index + 1]?.firstSeq ?? Number.MAX_SAFE_INTEGER
    end = followSegment(segment, { endSeq, signedSeq, origin, key })
    if (segment !== last && end.nextSeq !== endSeq) throw damageAt(segment, end)
    copies += end.copies
  }
  const tail = readTail(last, end, known)
  requireLength(folder, end.nextSeq, known)
  return { nextSeq: end.nextSeq, notTakenOver: setAside(last, end, tail), copies }
}

interface KnownEnd {
  readonly signedSeq: number
  readonly fromSeq: number
}

function followSegment(
  { path, firstSeq }: Segment,
  more: Pick<GroupsToFollow, 'endSeq' | 'signedSeq' | 'origin' | 'key'>,
): FollowedEnd {
  const file = new SegmentFile(path)
  try {
    // Without a whole header there is nothing in the file.
    if (decodeHeader(file.read(0, headerBytes))?.firstSeq !== firstSeq)
      return { nextSeq: firstSeq, offset: 0, copies: 0 }
    return findSealedEnd({ file, firstSeq, ...more })
  } finally {
    file.close()
  }
}

function damageAt({ path }: Segment, { nextSeq, offset }: SealedEnd): DataFileError {
  const place = `record ${nextSeq} cannot be read, at byte ${offset}, or the journal has not sealed it`
  const rule = `the journal is damaged: ${place}, although later records were written`
  return new DataFileError(path, `${rule}. Restore the file from a backup${countLossFirst}`)
}

/** Throws {@link DataFileError} with the place if what follows the last whole record of the newest segment cannot be the rest of a write. */
export function requireNoDamage(segment: Segment, end: SealedEnd): void {
  readTail(segment, end, { signedSeq: 0, fromSeq: 0 })
}

/** What follows the sealed end. Throws if it cannot be the rest of the last write. */
function readTail(segment: Segment, end: SealedEnd, { signedSeq, fromSeq }: KnownEnd): Buffer {
  const { path, firstSeq } = segment
  const file = new SegmentFile(path)
  try {
    const tail = file.read(end.offset, Number.MAX_SAFE_INTEGER)
    const isKnown = end.nextSeq <= signedSeq || end.nextSeq < fromSeq
    // A segment was complete when it was compressed.
    const mayBeTorn = !isCompressed(path) && !isKnown
    if (tail.length === 0 || (mayBeTorn && isUnfinishedGroup(tail, firstSeq, end.nextSeq)))
      return tail
    throw damageAt(segment, end)
  } finally {
    file.close()
  }
}

function requireLength(folder: string, nextSeq: number, { signedSeq, fromSeq }: KnownEnd): void {
  const ends = `the journal ends with record ${nextSeq - 1}, but`
  const advice = `Restore a later backup of the folder${countLossFirst}`
  if (nextSeq < fromSeq) {
    throw new DataFileError(folder, `${ends} its index has record ${fromSeq - 1}. ${advice}`)
  }
  if (nextSeq <= signedSeq) {
    throw new DataFileError(folder, `${ends} record ${signedSeq} was signed. ${advice}`)
  }
}

/** Throws if the segment with which the journal begins is missing. A journal may have none at all. */
function requireFirstSegment(folder: string, segments: readonly Segment[], begins: number): void {
  const [oldest] = segments
  if (oldest === undefined ? begins === 1 : oldest.firstSeq <= begins) return
  const found = oldest === undefined ? 'there is none' : `the oldest is ${oldest.path}`
  const rule = `the segment with record ${begins}, with which the journal begins, is missing: ${found}`
  throw new DataFileError(
    segmentPath(folder, begins),
    `${rule}. Restore it from a backup${countLossFirst}`,
  )
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

function setAside(
  { path }: Segment,
  { nextSeq, offset }: SealedEnd,
  tail: Buffer,
): NotTakenOver | undefined {
  if (tail.length === 0) return undefined
  const aside = path.replace(/\d{20}\.seg$/, `${String(nextSeq).padStart(20, '0')}.cut`)
  writeFileSync(`${aside}.tmp`, tail, { mode: 0o600, flush: true })
  moveIntoPlace(`${aside}.tmp`, aside)
  const file = openSync(path, 'r+')
  try {
    ftruncateSync(file, offset)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return {
    file: basename(aside),
    bytes: tail.length,
    sha256: createHash('sha256').update(tail).digest('hex'),
    records: countRecords(tail, Number(basename(path).slice(0, 20))),
  }
}
