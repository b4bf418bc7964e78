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

/** Of a segment that is followed from its beginning. */
export interface FollowedEnd extends SealedEnd {
  /** How many records there are once more up to there. */
  readonly copies: number
}

interface SealedRecords extends FollowedEnd {
  /** Those since the end before. */
  readonly records: readonly StoredRecord[]
}

/**
 * The records of a group, to tell one that is there once more from another one with its number. A group is there once more, perhaps
 * with further records, where its write was repeated in the same segment. Its first copy counts.
 */
export class LastGroup {
  #records: StoredRecord[] = []
  #hasEnded = true

  /** Whether a record is the next one, or has the content of one that is known; `undefined` if neither. */
  take(record: StoredRecord, nextSeq: number): 'next' | 'copy' | undefined {
    const { seq, kind, at, body } = record
    const isNext = seq === nextSeq
    if (isNext && this.#hasEnded) this.#records = []
    this.#hasEnded = false
    if (isNext) {
      this.#records.push(record)
      return 'next'
    }
    const known = this.#records[seq - (this.#records[0]?.seq ?? 0)]
    const isCopy = known?.kind === kind && known.at === at && known.body.equals(body)
    return isCopy ? 'copy' : undefined
  }

  /** To be called at a seal. */
  end(): void {
    this.#hasEnded = true
  }
}

const beginningOf = (firstSeq: number): FollowedEnd => ({
  nextSeq: firstSeq,
  offset: headerBytes,
  copies: 0,
})

/** Follows the records of a segment up to the last one that is signed, or in a group whose seal fits all its bytes. */
export function findSealedEnd(groups: GroupsToFollow): FollowedEnd {
  let end = beginningOf(groups.firstSeq)
  for (const { records, ...next } of followGroups(groups, end, new LastGroup())) end = next
  return end
}

/** From where a group begins, after the last one. */
function* followGroups(
  { file, firstSeq, endSeq, signedSeq, origin, key }: GroupsToFollow,
  from: FollowedEnd,
  last: LastGroup,
): Generator<SealedRecords> {
  let { nextSeq, copies } = from
  let group: { firstSeq: number; lastSeq: number } | undefined
  let hash = createHash('sha256')
  let records: StoredRecord[] = []
  for (const { frame, bytes, offset } of readFrames(file, firstSeq, from.offset)) {
    if ('record' in frame) {
      const { record } = frame
      const { seq } = record
      const taken = last.take(record, nextSeq)
      if (taken === undefined || seq >= endSeq) return
      hash.update(bytes)
      group = { firstSeq: group?.firstSeq ?? seq, lastSeq: seq }
      if (taken === 'copy') copies += 1
      else {
        nextSeq += 1
        records.push(record)
      }
      if (seq > signedSeq) continue
    } else {
      if (group === undefined) return
      const sealed = { origin, ...group, hash: hash.digest() }
      if (group.lastSeq > signedSeq && !isSealOf(frame, sealed, key)) return
      group = undefined
      last.end()
      hash = createHash('sha256')
    }
    yield { nextSeq, offset: offset + bytes.length, copies, records }
    records = []
  }
}

interface OpenSegment {
  readonly firstSeq: number
  readonly file: SegmentFile
  readonly last: LastGroup
  end: FollowedEnd
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
    const { file, end, last } = open
    const records: StoredRecord[] = []
    for (const group of followGroups({ file, firstSeq, endSeq, ...this.#sealed }, end, last)) {
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
    const end = beginningOf(firstSeq)
    this.#open = { firstSeq, file: new SegmentFile(path), last: new LastGroup(), end }
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
