/** Finds the end of what the journal has written itself: its groups of records, each with its seal. */
import { createHash, type KeyObject } from 'node:crypto'
import { chunkBytes } from '../journal-reader.js'
import type { SegmentFile } from '../segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeSeal,
  headerBytes,
  isSealOf,
  type ReadFrame,
  type ReadSeal,
} from '../segment-format.js'

export interface GroupsToFollow {
  readonly file: SegmentFile
  /** Of the first record of the segment. */
  readonly firstSeq: number
  /** Of the first record of the next segment, from which on this one is void. */
  readonly endSeq: number
  /** Of the last record under a signed checkpoint: up to there no seal is needed, and an erasure may have made it wrong. */
  readonly signedSeq: number
  /** SHA-256 of the journal's name. */
  readonly origin: Buffer
  readonly key: KeyObject
}

export interface SealedEnd {
  /** Of the first record that the journal has not signed or sealed. */
  readonly nextSeq: number
  /** Where it would begin in the segment. */
  readonly offset: number
}

/** Follows the records of a segment up to the last one that is signed, or in a group whose seal fits all its bytes. */
export function followGroups(groups: GroupsToFollow): SealedEnd {
  const { file, firstSeq, endSeq, signedSeq, origin, key } = groups
  let end: SealedEnd = { nextSeq: firstSeq, offset: headerBytes }
  let nextSeq = firstSeq
  let groupSeq = firstSeq
  let hash = createHash('sha256')
  for (const { frame, bytes, offset } of readFrames(file, firstSeq)) {
    const seq = 'record' in frame ? frame.record.seq : frame.lastSeq
    // It is there twice, and its first copy counts.
    if (seq < groupSeq) continue
    if ('record' in frame) {
      if (seq !== nextSeq || seq === endSeq) break
      nextSeq += 1
      hash.update(bytes)
      if (seq <= signedSeq) end = { nextSeq, offset: offset + bytes.length }
    } else {
      const group = { origin, firstSeq: groupSeq, lastSeq: nextSeq - 1, hash: hash.digest() }
      if (seq > signedSeq && !isSealOf(frame, group, key)) break
      end = { nextSeq, offset: offset + bytes.length }
      groupSeq = nextSeq
      hash = createHash('sha256')
    }
  }
  return end
}

interface PlacedFrame {
  readonly frame: ReadFrame | ReadSeal
  readonly bytes: Buffer
  /** In the segment. */
  readonly offset: number
}

/** Records and seals, up to the first bytes that are neither. */
function* readFrames(file: SegmentFile, firstSeq: number): Generator<PlacedFrame> {
  const checksumSeed = checksumSeedOf(firstSeq)
  for (let start = headerBytes; ; ) {
    const chunk = file.read(start, chunkBytes)
    let used = 0
    for (;;) {
      const frame = decodeSeal(chunk, used, checksumSeed) ?? decodeFrame(chunk, used, checksumSeed)
      if (frame === undefined) break
      yield { frame, bytes: chunk.subarray(used, frame.end), offset: start + used }
      used = frame.end
    }
    if (used === 0) return
    start += used
  }
}

/**
 * Whether the bytes after the sealed end can be one group whose write a crash ended, of which any part may be on disk, also
 * whole records and the seal. Otherwise what was written later is there, and something before it is missing.
 */
export function isUnfinishedGroup(tail: Buffer, firstSeq: number, nextSeq: number): boolean {
  const checksumSeed = checksumSeedOf(firstSeq)
  for (let offset = 0; offset < tail.length; offset += 8) {
    const seal = decodeSeal(tail, offset, checksumSeed)
    // That of an earlier group is there twice.
    if (seal === undefined || seal.lastSeq < nextSeq) continue
    return seal.firstSeq <= nextSeq && tail.subarray(seal.end).every((byte) => byte === 0)
  }
  return true
}

/** How many whole records there are in bytes that are not taken over. */
export function countRecords(tail: Buffer, firstSeq: number): number {
  const checksumSeed = checksumSeedOf(firstSeq)
  let count = 0
  for (let offset = 0; offset < tail.length; ) {
    const frame = decodeFrame(tail, offset, checksumSeed)
    count += frame ? 1 : 0
    offset = frame?.end ?? offset + 8
  }
  return count
}
