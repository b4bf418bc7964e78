/**
 * Appends records to the newest segment of a journal. Runs in a thread of its own, since a flush may
 * take as long as the disk likes.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { toUtcDay } from '../../domain/time/dates.js'
import { getErrorCode } from '../../errors.js'
import { syncFolder } from '../../runtime/folders.js'
import { runInThread, type ThreadWork } from '../../runtime/thread.js'
import { type OpenedFile, OpenFiles } from '../../storage/open-files.js'
import type { SigningKey } from '../../transparency/signed-note.js'
import { segmentPath } from './journal-reader.js'
import {
  checksumSeedOf,
  createSeal,
  encodeHeader,
  type FrameRun,
  finishFrames,
  type JournalRecord,
  readFirstRecord,
} from './segment-format.js'

/** What the writer uses of the file system; tests pass one that fails. */
export interface SegmentFiles {
  open(path: string): number
  write(file: number, bytes: Buffer): void
  /** What was written is on disk when it returns. */
  flush(file: number): void
  flushFolder(path: string): void
  close(file: number): void
  /** The same for an open file and its path as long as the path names this file. */
  identify(fileOrPath: number | string): string
  remove(path: string): void
}

const nodeFiles: SegmentFiles = {
  // A file of that name holds no record that was acknowledged: its first one has the number in the name.
  open: (path) => openSync(path, 'w', 0o600),
  write(file, bytes) {
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written)
  },
  flush: fdatasyncSync,
  flushFolder: syncFolder,
  close: closeSync,
  identify(fileOrPath) {
    const { dev, ino } =
      typeof fileOrPath === 'number' ? fstatSync(fileOrPath) : statSync(fileOrPath)
    return `${dev}:${ino}`
  },
  remove: unlinkSync,
}

export interface SegmentWriterOptions {
  readonly folder: string
  /** SHA-256 of the journal's origin. */
  readonly origin: Uint8Array
  /** Of the journal; it seals each group. */
  readonly key: SigningKey
  readonly maxSegmentBytes: number
  /** Of the database that decisions are based on. */
  readonly databaseFiles: readonly OpenedFile[]
}

interface OpenSegment {
  readonly file: number
  readonly path: string
  readonly identity: string
  readonly checksumSeed: number
  readonly utcDay: number
  size: number
  /** Whether it has a record that is on disk. */
  isUsed: boolean
}

export class SegmentWriter {
  readonly #options: SegmentWriterOptions
  readonly #files: SegmentFiles
  readonly #databaseFiles: OpenFiles
  #segment: OpenSegment | undefined

  constructor(options: SegmentWriterOptions, files: SegmentFiles = nodeFiles) {
    this.#options = options
    this.#files = files
    this.#databaseFiles = new OpenFiles(options.databaseFiles)
  }

  /**
   * The records are on disk when it returns; their numbers must be consecutive. Gives false if files of
   * the database are gone, smaller or cannot be looked at by then: what was decided from them must not be allowed. When it
   * throws, the same records are to be written again, first of all: after a flush that failed, the
   * system may report success though data is gone, so they go to a new segment.
   */
  handle({ memory, start, end }: FrameRun): boolean {
    const frames = Buffer.from(memory, start, end - start)
    const first = readFirstRecord(frames)
    if (this.#segment && this.#isComplete(this.#segment, first)) this.#closeSegment()
    try {
      this.#segment ??= this.#create(first)
      this.#append(this.#segment, frames, first.seq)
    } catch (cause) {
      this.#abandon()
      throw cause
    }
    const lost = this.#databaseFiles.findLost()
    return lost === undefined && !this.#databaseFiles.hasShrunk()
  }

  close(): void {
    this.#closeSegment()
    this.#databaseFiles.close()
  }

  #closeSegment(): void {
    const segment = this.#segment
    this.#segment = undefined
    if (segment) this.#files.close(segment.file)
  }

  /**
   * A segment holds records of one day, so that those of a day can be removed as files. An erasure begins
   * one, so that those with the records before it are complete and can be rewritten.
   */
  #isComplete({ size, utcDay }: OpenSegment, { at, kind }: JournalRecord): boolean {
    const isOtherDay = toUtcDay(at) !== utcDay
    return isOtherDay || kind === 'erasure' || size >= this.#options.maxSegmentBytes
  }

  #create({ seq, at }: JournalRecord): OpenSegment {
    const path = segmentPath(this.#options.folder, seq)
    const file = this.#files.open(path)
    const origin = Buffer.from(this.#options.origin)
    const header = encodeHeader({ firstSeq: seq, createdAt: at, origin })
    const segment = {
      file,
      path,
      identity: this.#files.identify(file),
      checksumSeed: checksumSeedOf(seq),
      utcDay: toUtcDay(at),
      size: header.length,
      isUsed: false,
    }
    this.#segment = segment
    this.#files.write(file, header)
    return segment
  }

  #append(segment: OpenSegment, frames: Buffer, firstSeq: number): void {
    const { file, path, identity, checksumSeed } = segment
    const { origin, key } = this.#options
    const lastSeq = firstSeq + finishFrames(frames, checksumSeed) - 1
    const seal = createSeal(
      frames,
      { origin, firstSeq, lastSeq },
      { checksumSeed, key: key.privateKey },
    )
    this.#files.write(file, frames)
    this.#files.write(file, seal)
    this.#files.flush(file)
    if (!segment.isUsed) this.#files.flushFolder(dirname(path))
    if (this.#files.identify(path) !== identity) throw new Error(`${path}: the file was replaced`)
    segment.size += frames.length + seal.length
    segment.isUsed = true
  }

  /** Nothing more is written to the file. One without any record on disk is removed. */
  #abandon(): void {
    const segment = this.#segment
    if (segment === undefined) return
    this.#segment = undefined
    try {
      this.#files.close(segment.file)
      if (!segment.isUsed) this.#files.remove(segment.path)
    } catch (cause) {
      // It is written over by the next attempt, or it is in a folder that is gone.
      if (getErrorCode(cause) === undefined) throw cause
    }
  }
}

export const segmentWriting: ThreadWork<SegmentWriterOptions, FrameRun, boolean> = {
  module: import.meta.url,
  create: (options) => new SegmentWriter(options),
}

runInThread(segmentWriting)
