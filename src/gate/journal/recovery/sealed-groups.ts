/** Finds what the journal has written itself: its groups of records, each with its seal. */
import { createHash, type KeyObject } from 'node:crypto'
import { chunkBytes, listSegments } from '../journal-reader.js'
import { SegmentFile } from '../segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeSeal,
  headerBytes,
  isSealOf,
  type ReadFrame,
  type ReadSeal,
  type StoredRecord,
} from '../segment-format.js'
import { unsealedRecord } from '../tree/signed-tree.js'

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

interface SealedRecords extends SealedEnd {
  /** Those since the end before. */
  readonly records: readonly StoredRecord[]
}

const beginningOf = (firstSeq: number): SealedEnd => ({ nextSeq: firstSeq, offset: headerBytes })

/** Follows the records of a segment up to the last one that is signed, or in a group whose seal fits all its bytes. */
export function findSealedEnd(groups: GroupsToFollow): SealedEnd {
  let end = beginningOf(groups.firstSeq)
  for (const { nextSeq, offset } of followGroups(groups, end)) end = { nextSeq, offset }
  return end
}

/** From where a group begins. */
function* followGroups(
  { file, firstSeq, endSeq, signedSeq, origin, key }: GroupsToFollow,
  from: SealedEnd,
): Generator<SealedRecords> {
  let { nextSeq } = from
  let groupSeq = nextSeq
  let hash = createHash('sha256')
  let records: StoredRecord[] = []
  for (const { frame, bytes, offset } of readFrames(file, firstSeq, from.offset)) {
    const seq = 'record' in frame ? frame.record.seq : frame.lastSeq
    // It is there twice, and its first copy counts.
    if (seq < groupSeq) continue
    if ('record' in frame) {
      if (seq !== nextSeq || seq === endSeq) return
      nextSeq += 1
      hash.update(bytes)
      records.push(frame.record)
      if (seq > signedSeq) continue
    } else {
      const group = { origin, firstSeq: groupSeq, lastSeq: nextSeq - 1, hash: hash.digest() }
      if (seq > signedSeq && !isSealOf(frame, group, key)) return
      groupSeq = nextSeq
      hash = createHash('sha256')
    }
    yield { nextSeq, offset: offset + bytes.length, records }
    records = []
  }
}

interface OpenSegment {
  readonly firstSeq: number
  readonly file: SegmentFile
  end: SealedEnd
}

/** Reads what is to be signed: somebody may have changed it since it was written. */
export class SealedReader {
  readonly #folder: string
  readonly #sealed: Pick<GroupsToFollow, 'signedSeq' | 'origin' | 'key'>
  #nextSeq: number
  #open: OpenSegment | undefined

  /** Begins after the last record that is signed. */
  constructor(folder: string, sealed: Pick<GroupsToFollow, 'signedSeq' | 'origin' | 'key'>) {
    this.#folder = folder
    this.#sealed = sealed
    this.#nextSeq = sealed.signedSeq + 1
  }

  /**
   * The next groups, about two megabytes of them, up to the one that ends with number `lastSeq`, which must be on disk. Throws
   * `ChangedRecordError` if the next one is not as it was sealed.
   */
  read(lastSeq: number): readonly StoredRecord[] {
    const segments = listSegments(this.#folder)
    const segment = segments.findLast(({ firstSeq }) => firstSeq <= this.#nextSeq)
    if (segment === undefined) throw unsealedRecord(this.#folder, this.#nextSeq)
    const { path, firstSeq } = segment
    const next = segments.find((other) => other.firstSeq > firstSeq)
    const endSeq = Math.min(lastSeq + 1, next?.firstSeq ?? Number.MAX_SAFE_INTEGER)
    const open = this.#openSegment(path, firstSeq)
    const { file, end } = open
    const records: StoredRecord[] = []
    for (const group of followGroups({ file, firstSeq, endSeq, ...this.#sealed }, end)) {
      open.end = group
      records.push(...group.records.filter(({ seq }) => seq >= this.#nextSeq))
      if (records.length > 0 && group.offset - end.offset >= chunkBytes) break
    }
    if (records.length === 0) throw unsealedRecord(path, this.#nextSeq)
    this.#nextSeq += records.length
    return records
  }

  #openSegment(path: string, firstSeq: number): OpenSegment {
    if (this.#open?.firstSeq === firstSeq) return this.#open
    this.close()
    this.#open = { firstSeq, file: new SegmentFile(path), end: beginningOf(firstSeq) }
    return this.#open
  }

  close(): void {
    this.#open?.file.close()
    this.#open = undefined
  }
}

interface PlacedFrame {
  readonly frame: ReadFrame | ReadSeal
  readonly bytes: Buffer
  /** In the segment. */
  readonly offset: number
}

/** Records and seals, up to the first bytes that are neither. */
function* readFrames(file: SegmentFile, firstSeq: number, from: number): Generator<PlacedFrame> {
  const checksumSeed = checksumSeedOf(firstSeq)
  for (let start = from; ; ) {
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
