/** Reads the records of a journal in their order, from any sequence number on. */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { moveIntoPlace } from '../../runtime/folders.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeHeader,
  headerBytes,
  type JournalRecord,
  type ReadFrame,
  type SegmentHeader,
} from './segment-format.js'

export interface Segment {
  readonly path: string
  readonly firstSeq: number
}

const extension = '.seg'
const compressedExtension = '.seg.gz'

/** The name is the number of the first record, so that names sort as records do. */
export function segmentPath(folder: string, firstSeq: number): string {
  return join(folder, `${String(firstSeq).padStart(20, '0')}${extension}`)
}

/** The segments of a folder in their order, each once, also while one is replaced by its compressed form. */
export function listSegments(folder: string): readonly Segment[] {
  const names = readdirSync(folder).filter((name) => /^\d{20}\.seg(?:\.gz)?$/.test(name))
  return names
    .filter((name) => name.endsWith(extension) || !names.includes(name.replace(/\.gz$/, '')))
    .sort()
    .map((name) => ({ path: join(folder, name), firstSeq: Number(name.slice(0, 20)) }))
}

const isCompressed = ({ path }: Segment) => path.endsWith(compressedExtension)

interface OpenSegment extends Segment {
  /** Of a compressed segment: its bytes as they were written. */
  readonly content: Buffer | undefined
  readonly file: number
  readonly checksumSeed: number
  /** Of the next frame. */
  offset: number
}

/** Twice the size of the largest frame. */
const chunkBytes = 2_097_152

/**
 * A segment ends where the next one begins: after a write that failed, a new segment begins with the
 * first record that was not acknowledged, and what the segment before holds from there on is void.
 */
export class JournalReader {
  readonly #folder: string
  #open: OpenSegment | undefined
  #nextSeq: number

  constructor(folder: string, nextSeq: number) {
    this.#folder = folder
    this.#nextSeq = nextSeq
  }

  get nextSeq(): number {
    return this.#nextSeq
  }

  /** Where in its segment the next record would begin; 0 while no segment is open. */
  get offset(): number {
    return this.#open?.offset ?? 0
  }

  /**
   * The next records, about two megabytes of them, up to and including number `lastSeq`; none at the end
   * of the journal. Throws {@link DataFileError} with the place when a record with a number up to
   * `lastSeq` cannot be read though later ones exist.
   */
  read(lastSeq = Number.MAX_SAFE_INTEGER): readonly JournalRecord[] {
    const records: JournalRecord[] = []
    while (records.length === 0 && this.#nextSeq <= lastSeq) {
      if (!this.#openSegment()) break
      const segment = this.#open
      if (segment === undefined || !this.#readChunk(segment, { lastSeq, records })) break
    }
    return records
  }

  close(): void {
    if (this.#open) closeSync(this.#open.file)
    this.#open = undefined
  }

  /** Opens the segment that holds the next record, if another one than before. */
  #openSegment(): boolean {
    const segments = listSegments(this.#folder)
    const found = segments.findLast(({ firstSeq }) => firstSeq <= this.#nextSeq)
    if (found === undefined) {
      const [first] = segments
      if (first === undefined) return false
      throw new DataFileError(first.path, `the segment before it is missing: ${this.#missing()}`)
    }
    if (found.firstSeq === this.#open?.firstSeq) return true
    this.close()
    this.#open = openSegment(found)
    if (this.#open === undefined) {
      if (found === segments.at(-1)) return false
      throw new DataFileError(found.path, `its header cannot be read: ${this.#missing()}`)
    }
    const wanted = this.#nextSeq
    this.#nextSeq = found.firstSeq
    // What comes before the wanted record in its segment is read and left out.
    while (this.#nextSeq < wanted) {
      if (!this.#readChunk(this.#open, { lastSeq: wanted - 1, records: [] })) {
        throw this.#damageAt(this.#open)
      }
    }
    return true
  }

  #missing(): string {
    return `record ${this.#nextSeq} is not in the journal`
  }

  #damageAt({ path, offset }: OpenSegment): DataFileError {
    return new DataFileError(path, `record ${this.#nextSeq} cannot be read, at byte ${offset}`)
  }

  /** False if no frame was read. */
  #readChunk(
    segment: OpenSegment,
    { lastSeq, records }: { readonly lastSeq: number; readonly records: JournalRecord[] },
  ): boolean {
    const next = listSegments(this.#folder).find(({ firstSeq }) => firstSeq > segment.firstSeq)
    const last = Math.min(lastSeq, (next?.firstSeq ?? Number.MAX_SAFE_INTEGER) - 1)
    const bytes =
      segment.content?.subarray(segment.offset, segment.offset + chunkBytes) ??
      readAt(segment.file, segment.offset, chunkBytes)
    let offset = 0
    let frame: ReadFrame | undefined
    while (this.#nextSeq <= last) {
      frame = decodeFrame(bytes, offset, segment.checksumSeed)
      if (frame === undefined || frame.record.seq !== this.#nextSeq) break
      records.push(frame.record)
      offset = frame.end
      this.#nextSeq += 1
    }
    segment.offset += offset
    if (offset > 0) return true
    // The segment ends before the next one begins.
    if (next !== undefined && this.#nextSeq <= last) throw this.#damageAt(segment)
    return false
  }
}

/** `undefined` for a file whose header was never written whole, which holds nothing. */
function openSegment(segment: Segment): OpenSegment | undefined {
  const file = openSync(segment.path, 'r')
  const header = readHeader(segment, file)
  if (header?.firstSeq === segment.firstSeq) {
    const checksumSeed = checksumSeedOf(segment.firstSeq)
    const content = isCompressed(segment) ? decompress(segment) : undefined
    return { ...segment, content, file, checksumSeed, offset: headerBytes }
  }
  closeSync(file)
  return undefined
}

function readHeader(segment: Segment, file: number): SegmentHeader | undefined {
  if (!isCompressed(segment)) return decodeHeader(readAt(file, 0, headerBytes))
  try {
    // The end of the input is missing on purpose.
    const start = readAt(file, 0, compressedHeaderBytes)
    return decodeHeader(gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }))
  } catch {
    return undefined
  }
}

/** More than the header takes, whatever follows it. */
const compressedHeaderBytes = 4_096

function decompress({ path }: Segment): Buffer {
  try {
    return gunzipSync(readFileSync(path))
  } catch (cause) {
    throw new DataFileError(path, `cannot be decompressed: ${getErrorMessage(cause)}`, cause)
  }
}

/**
 * Compresses the oldest segment that is not compressed, if the next one begins at or before `nextSeq`,
 * so that nothing is written to it any more. The file is replaced once its copy is on disk and has been
 * compared. Gives false if there is none.
 */
export function compressOldestSegment(folder: string, nextSeq: number): boolean {
  const segments = listSegments(folder)
  const index = segments.findIndex((segment) => !isCompressed(segment))
  const [segment, next] = [segments[index], segments[index + 1]]
  if (segment === undefined || next === undefined || next.firstSeq > nextSeq) return false
  const content = readFileSync(segment.path)
  const aside = `${segment.path}.tmp`
  writeFileSync(aside, gzipSync(content, { level: 3 }), { mode: 0o600, flush: true })
  if (!gunzipSync(readFileSync(aside)).equals(content)) {
    throw new DataFileError(aside, 'the compressed segment does not have the bytes of the segment')
  }
  moveIntoPlace(aside, `${segment.path}.gz`)
  unlinkSync(segment.path)
  return true
}

function readAt(file: number, offset: number, atMost: number): Buffer {
  const length = Math.max(0, Math.min(atMost, fstatSync(file).size - offset))
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const count = readSync(file, bytes, read, length - read, offset + read)
    if (count === 0) break
    read += count
  }
  return bytes.subarray(0, read)
}

export interface RecoveredJournal {
  /** Of the next record to be written. */
  readonly nextSeq: number
  /** Bytes of an unfinished write that were removed. Nobody was told of what they held. */
  readonly removedBytes: number
}

/**
 * Checks a journal at the start, from record `fromSeq` or the newest segment on, and removes what a
 * crash left of an unfinished write. Throws {@link DataFileError} with the place if anything else does
 * not add up.
 */
export function recoverJournal(folder: string, origin: Buffer, fromSeq: number): RecoveredJournal {
  const segments = listSegments(folder)
  const last = segments.at(-1)
  if (last === undefined) return { nextSeq: 1, removedBytes: 0 }
  for (const segment of segments) requireOrigin(segment, origin, segment === last)
  const reader = new JournalReader(folder, Math.max(1, Math.min(fromSeq, last.firstSeq)))
  try {
    while (reader.read().length > 0) {
      // Each record is checked as it is read.
    }
    const { offset, nextSeq } = reader
    return { nextSeq, removedBytes: removeTornTail(last, nextSeq, offset) }
  } finally {
    reader.close()
  }
}

/** The header of the newest segment may be unfinished. */
function requireOrigin(segment: Segment, origin: Buffer, isLast: boolean): void {
  const { path } = segment
  const file = openSync(path, 'r')
  try {
    const header = readHeader(segment, file)
    if (header === undefined) {
      if (!isLast) throw new DataFileError(path, 'the header of the segment cannot be read')
    } else if (!header.origin.equals(origin)) {
      throw new DataFileError(
        path,
        'the segment belongs to another journal; move it out of the folder',
      )
    }
  } finally {
    closeSync(file)
  }
}

/** Returns how many bytes that were. Without a whole header there is nothing in the file. */
function removeTornTail(segment: Segment, nextSeq: number, end: number): number {
  // It was complete when it was compressed.
  if (isCompressed(segment)) return 0
  const { path, firstSeq } = segment
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
