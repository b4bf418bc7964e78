import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { countLossFirst, DataFileError, getErrorCode } from '../../errors.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { compressSegment, isCompressed, openSegmentFile, type SegmentFile } from './segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeHeader,
  decodeSeal,
  frameHeadBytes,
  headerBytes,
  type ReadFrame,
  type SegmentHeader,
  type StoredRecord,
  sealBytes,
} from './segment-format.js'

export interface Segment {
  readonly path: string
  readonly firstSeq: number
}

/** Where a record is. */
export interface RecordPlace {
  /** First sequence number of its segment. */
  readonly segment: number
  /** Of its first byte in the segment, as it was written. */
  readonly offset: number
}

export interface PlacedRecord extends StoredRecord, RecordPlace {}

/** The name is the number of the first record, so that names sort as records do. */
export function segmentPath(folder: string, firstSeq: number): string {
  return join(folder, `${String(firstSeq).padStart(20, '0')}.seg`)
}

interface FolderListing {
  /** Another one after each change of the folder that is not within the same tick of its clock. */
  readonly version: string
  /** By the monotonic clock: when the folder was first found to have this version, and when it was listed. */
  readonly seenAtSeconds: number
  readonly listedAtSeconds: number
  readonly segments: readonly Segment[]
}

/** File systems that record the time of a change more coarsely are rare. */
const longestTickSeconds = 1
/** With those, a segment that was begun just after the list was made is found by then. */
const maxListSeconds = 10

/**
 * Of the folder that was listed last. The index needs a list for each of its updates, and reading thousands
 * of names takes longer than the rest of an update.
 */
let listing: FolderListing | undefined

/** The segments of a folder in their order, each once, also while one is replaced by its compressed form. */
export function listSegments(folder: string): readonly Segment[] {
  const { ino, ctimeNs } = statSync(folder, { bigint: true })
  const version = `${ino} ${ctimeNs} ${folder}`
  const now = monotonicSeconds()
  const known = listing?.version === version ? listing : undefined
  if (known && isCurrent(known, now)) return known.segments
  const segments = readSegmentNames(folder)
  const seenAtSeconds = known?.seenAtSeconds ?? now
  listing = { version, seenAtSeconds, listedAtSeconds: now, segments }
  return segments
}

function isCurrent({ seenAtSeconds, listedAtSeconds }: FolderListing, now: number): boolean {
  return (
    listedAtSeconds - seenAtSeconds > longestTickSeconds && now - listedAtSeconds < maxListSeconds
  )
}

function readSegmentNames(folder: string): readonly Segment[] {
  const names = readdirSync(folder).filter((name) => /^\d{20}\.seg(?:\.gz)?$/.test(name))
  const distinct = new Set(names)
  return names
    .filter((name) => !isCompressed(name) || !distinct.has(name.replace(/\.gz$/, '')))
    .sort()
    .map((name) => ({ path: join(folder, name), firstSeq: Number(name.slice(0, 20)) }))
}

/**
 * Number of the first record of the newest segment that was begun at or before an instant, else of the
 * oldest one; `undefined` if there is no segment.
 */
export function findSegmentStart(folder: string, at: Instant): number | undefined {
  const segments = listSegments(folder)
  const wanted = segments.findLast((segment) => {
    const header = readSegmentHeader(segment.path)
    return header !== undefined && header.createdAt <= at
  })
  return (wanted ?? segments[0])?.firstSeq
}

/** Throws as `openSync` does if the segment is missing. */
export function readSegmentHeader(path: string): SegmentHeader | undefined {
  const { file } = openSegmentFile(path)
  try {
    return decodeHeader(file.read(0, headerBytes))
  } finally {
    file.close()
  }
}

interface OpenSegment extends Segment {
  readonly file: SegmentFile
  readonly checksumSeed: number
  /** Of the next frame. */
  offset: number
}

/** Twice the size of the largest frame. */
export const chunkBytes = 2_097_152

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
  read(lastSeq = Number.MAX_SAFE_INTEGER): readonly PlacedRecord[] {
    const records: PlacedRecord[] = []
    while (records.length === 0 && this.#nextSeq <= lastSeq) {
      if (!this.#openSegment()) break
      const segment = this.#open
      if (segment === undefined || !this.#readChunk(segment, { lastSeq, records })) break
    }
    return records
  }

  close(): void {
    this.#open?.file.close()
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
    { lastSeq, records }: { readonly lastSeq: number; readonly records: PlacedRecord[] },
  ): boolean {
    const next = listSegments(this.#folder).find(({ firstSeq }) => firstSeq > segment.firstSeq)
    const last = Math.min(lastSeq, (next?.firstSeq ?? Number.MAX_SAFE_INTEGER) - 1)
    const bytes = segment.file.read(segment.offset, chunkBytes)
    let offset = 0
    while (this.#nextSeq <= last) {
      const seal = decodeSeal(bytes, offset, segment.checksumSeed)
      const frame = seal ? undefined : decodeFrame(bytes, offset, segment.checksumSeed)
      // A record with a lower number is a copy, and the first one counts.
      if (frame && frame.record.seq > this.#nextSeq) break
      if (frame?.record.seq === this.#nextSeq) {
        const place = { segment: segment.firstSeq, offset: segment.offset + offset }
        records.push({ ...frame.record, ...place })
        this.#nextSeq += 1
      }
      const end = seal?.end ?? frame?.end
      if (end === undefined) break
      offset = end
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
  const { file } = openSegmentFile(segment.path)
  try {
    const header = decodeHeader(file.read(0, headerBytes))
    if (header?.firstSeq === segment.firstSeq) {
      const checksumSeed = checksumSeedOf(segment.firstSeq)
      return { ...segment, file, checksumSeed, offset: headerBytes }
    }
  } catch (cause) {
    file.close()
    throw cause
  }
  file.close()
  return undefined
}

/** Holds most records. */
const usualFrameBytes = 4_096

/** Reads records by their place. Keeps the segment of the last one open. */
export class RecordReader {
  readonly #folder: string
  #open:
    | { readonly path: string; readonly firstSeq: number; readonly file: SegmentFile }
    | undefined

  /** Of the journal. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * `undefined` if the segment and all before it were removed. Throws {@link DataFileError} with the place
   * if no whole record is there.
   */
  read(place: RecordPlace): StoredRecord | undefined {
    return this.#readFrame(place)?.record
  }

  /** Whether anything but a seal is written after a record in its segment. Throws as {@link RecordReader.read} does. */
  hasMoreAfter(place: RecordPlace): boolean {
    const frame = this.#readFrame(place)
    if (frame === undefined || this.#open === undefined) return false
    const next = this.#open.file.read(place.offset + frame.end, sealBytes + frameHeadBytes)
    const seal = decodeSeal(next, 0, checksumSeedOf(place.segment))
    return next.subarray(seal?.end ?? 0).some((byte) => byte !== 0)
  }

  #readFrame({ segment, offset }: RecordPlace): ReadFrame | undefined {
    if (this.#open?.firstSeq !== segment) {
      this.close()
      this.#open = this.#openSegment(segment)
    }
    if (this.#open === undefined) return undefined
    const { file, path } = this.#open
    const checksumSeed = checksumSeedOf(segment)
    const frame =
      decodeFrame(file.read(offset, usualFrameBytes), 0, checksumSeed) ??
      decodeFrame(file.read(offset, chunkBytes), 0, checksumSeed)
    if (frame) return frame
    throw new DataFileError(path, `there is no record at byte ${offset}`)
  }

  #openSegment(firstSeq: number) {
    const plain = segmentPath(this.#folder, firstSeq)
    try {
      return { ...openSegmentFile(plain), firstSeq }
    } catch (cause) {
      if (getErrorCode(cause) !== 'ENOENT') throw cause
    }
    const [oldest] = listSegments(this.#folder)
    if (oldest !== undefined && oldest.firstSeq > firstSeq) return undefined
    throw new DataFileError(
      plain,
      `the segment is missing. Restore it from a backup${countLossFirst}`,
    )
  }

  close(): void {
    this.#open?.file.close()
    this.#open = undefined
  }
}

/**
 * Compresses the oldest segment that is not compressed, if the next one begins at or before `nextSeq`,
 * so that nothing is written to it anymore. Gives false if there is none.
 */
export function compressOldestSegment(folder: string, nextSeq: number): boolean {
  const segments = listSegments(folder)
  const index = segments.findIndex(({ path }) => !isCompressed(path))
  const [segment, next] = [segments[index], segments[index + 1]]
  if (segment === undefined || next === undefined || next.firstSeq > nextSeq) return false
  compressSegment(segment.path)
  return true
}
