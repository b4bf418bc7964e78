/**
 * Takes a number out of the records of a segment. A record keeps its place, its sequence number and its
 * length, so that the index stays right, and gets another salt. The segment is replaced as a whole.
 */
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { DataFileError } from '../../../errors.js'
import { moveIntoPlace } from '../../../runtime/folders.js'
import { chunkBytes, type PlacedRecord, type Segment } from '../journal-reader.js'
import { compressSegment, isCompressed, SegmentFile, writeAt } from '../segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  headerBytes,
  type StoredRecord,
  withErased,
} from '../segment-format.js'
import type { NumberEraser } from './erase-records.js'

export interface SegmentToErase extends Segment {
  /** Number of the first record of the next segment: what this one has from there on is void. */
  readonly endSeq: number
}

/** Gets the records of a segment in their order, each with what is to be left of it if it has the number. */
export type OnRecord = (record: StoredRecord, left: PlacedRecord | undefined) => void

/**
 * Reads a segment to which nothing is written anymore, and changes nothing. Says whether the number is in it, in a record or
 * in what an unfinished write left.
 */
export function searchSegment(
  segment: SegmentToErase,
  eraser: NumberEraser,
  onRecord: OnRecord,
): boolean {
  const source = new SegmentFile(segment.path)
  try {
    let isFound = false
    for (const { isChanged } of readErased(source, segment, eraser, onRecord)) isFound ||= isChanged
    return isFound
  } finally {
    source.close()
  }
}

/** Replaces a segment to which nothing is written anymore, in the form that it has, if it has the number. */
export function eraseFromSegment(
  segment: SegmentToErase,
  eraser: NumberEraser,
  onRecord: OnRecord = () => undefined,
): void {
  const { path } = segment
  const source = new SegmentFile(path)
  const aside = `${path.replace(/\.gz$/, '')}.erased`
  let target: number | undefined
  try {
    for (const { offset, bytes, isChanged } of readErased(source, segment, eraser, onRecord)) {
      if (isChanged) target ??= copyStart(source, aside, offset)
      if (target !== undefined) writeAt(target, bytes, offset)
    }
    if (target !== undefined) fsyncSync(target)
  } finally {
    source.close()
    if (target !== undefined) closeSync(target)
  }
  if (target !== undefined) replaceSegment(path, aside)
}

/** After a crash while it was compressed there may be both forms, and the other one has the number too. */
function replaceSegment(path: string, aside: string): void {
  if (isCompressed(path)) compressSegment(aside, path)
  else {
    rmSync(`${path}.gz`, { force: true })
    moveIntoPlace(aside, path)
  }
}

/** Returns the file, with the bytes up to an offset in it. */
function copyStart(source: SegmentFile, aside: string, end: number): number {
  const target = openSync(aside, 'w', 0o600)
  for (let offset = 0; offset < end; ) {
    offset += writeAt(target, source.read(offset, Math.min(chunkBytes, end - offset)), offset)
  }
  return target
}

interface ErasedChunk {
  /** Where it begins in the segment; the first one has the header. */
  readonly offset: number
  readonly bytes: Buffer
  readonly isChanged: boolean
}

/** A segment without the number, chunk by chunk. */
function* readErased(
  source: SegmentFile,
  segment: SegmentToErase,
  eraser: NumberEraser,
  onRecord: OnRecord,
): Generator<ErasedChunk> {
  const erasing = new ChunkErasing(segment, eraser, onRecord)
  for (let offset = 0, end = 0; ; offset = end) {
    const chunk = source.read(offset, chunkBytes)
    if (chunk.length === 0) return
    const erased = erasing.erase(chunk, offset)
    end = offset + erased.bytes.length
    yield erased
  }
}

class ChunkErasing {
  readonly #segment: SegmentToErase
  readonly #eraser: NumberEraser
  readonly #onRecord: OnRecord
  readonly #checksumSeed: number
  #nextSeq: number

  constructor(segment: SegmentToErase, eraser: NumberEraser, onRecord: OnRecord) {
    this.#segment = segment
    this.#eraser = eraser
    this.#onRecord = onRecord
    this.#checksumSeed = checksumSeedOf(segment.firstSeq)
    this.#nextSeq = segment.firstSeq
  }

  /**
   * The whole records of a chunk, without the number. Bytes that are no record, as an unfinished write or
   * damage left them, are searched as text.
   */
  erase(chunk: Buffer, start: number): ErasedChunk {
    const hasNumber = this.#eraser.mayHaveNumber(chunk)
    const bytes = hasNumber ? Buffer.from(chunk) : chunk
    let isChanged = false
    const replace = (content: Buffer, offset: number) => {
      if (content.equals(bytes.subarray(offset, offset + content.length))) return
      content.copy(bytes, offset)
      isChanged = true
    }
    let end = start === 0 ? headerBytes : 0
    for (let offset = end; offset < chunk.length; ) {
      const frame = decodeFrame(chunk, offset, this.#checksumSeed)
      if (frame === undefined) {
        offset += 8
        continue
      }
      if (hasNumber) replace(this.#eraser.eraseText(bytes.subarray(end, offset)), end)
      const whole = chunk.subarray(offset, frame.end)
      const erased = hasNumber ? this.#eraseFrame(whole, frame.record) : undefined
      this.#visit(frame.record, start + offset, erased)
      if (erased) replace(erased, offset)
      end = frame.end
      offset = frame.end
    }
    // A record that ends in the next chunk begins after the last whole one. There is none in half a chunk.
    if (chunk.length === chunkBytes && end > chunkBytes / 2)
      return { offset: start, bytes: bytes.subarray(0, end), isChanged }
    if (hasNumber) replace(this.#eraser.eraseText(bytes.subarray(end)), end)
    return { offset: start, bytes, isChanged }
  }

  #eraseFrame(frame: Buffer, record: StoredRecord): Buffer | undefined {
    const body = this.#eraser.eraseRecord(record)
    if (body === undefined || body.equals(record.body)) return undefined
    return withErased(frame, body, this.#checksumSeed)
  }

  #visit(record: StoredRecord, offset: number, erased: Buffer | undefined): void {
    const { path, firstSeq, endSeq } = this.#segment
    const { seq } = record
    if (seq >= endSeq || seq < this.#nextSeq) return
    if (seq > this.#nextSeq) {
      throw new DataFileError(path, `record ${this.#nextSeq} cannot be read`)
    }
    this.#nextSeq += 1
    const left = erased && decodeFrame(erased, 0, this.#checksumSeed)
    this.#onRecord(record, left && { ...left.record, segment: firstSeq, offset })
  }
}
