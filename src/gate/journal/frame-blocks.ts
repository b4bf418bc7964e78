/**
 * Records on their way to the disk. Each is laid out as a frame once, in memory that the journal's thread
 * shares, so that nothing is copied; it lies outside the heap, so that a waiting record is no work for the
 * garbage collector. {@link RecentCalls} has the records of calls that may be under way, as texts.
 */

import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Decision } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'
import { systemTimers } from '../../runtime/runtime.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import { recordKinds } from '../../transparency/log-entry.js'
import { startOfBody } from '../record/read-head.js'
import { readRecord } from '../record/read-record.js'
import type { IndexedDecision } from './decision-index.js'
import { mergeOutcome } from './merge-outcome.js'
import {
  type FrameRun,
  format,
  frameHeadBytes,
  type JournalRecord,
  payloadHeadBytes,
  type RecordKind,
  readRecordWithBodyAt,
} from './segment-format.js'

/** Frames without salt and checksum, which the thread adds. */
interface FrameBlock {
  readonly memory: SharedArrayBuffer
  readonly bytes: Buffer
  readonly firstSeq: number
  /** Number of the next record. */
  endSeq: number
  /** Where its frame begins. */
  size: number
  /** So much of it is on disk. */
  writtenSize: number
}

/** Called once: without a cause when the record is on disk. */
export type OnWritten = (cause?: unknown) => void

/** A record that is not on disk. */
export interface WaitingRecord {
  readonly block: FrameBlock
  /** Where its frame ends in the block. */
  readonly end: number
  readonly at: Instant
  readonly decisionId: string
  /** It is the first of its batch, and so of its segment. */
  readonly startsSegment: boolean
  /** By the monotonic clock. */
  readonly enqueuedAtSeconds: number
  readonly onWritten: OnWritten | undefined
  /** Whether it is known if the first write succeeded. */
  isSettled: boolean
}

const maxSpareBlocks = 8

export interface FrameBlocksOptions {
  readonly blockBytes: number
  readonly maxBlocks: number
}

/** All records that are not in the index, some of them not on disk either; the last block is being filled. */
export class FrameBlocks {
  readonly #options: FrameBlocksOptions
  readonly #blocks: FrameBlock[] = []
  /** Of blocks that are in the index. New memory would cost a page fault for every three records. */
  readonly #spareMemory: SharedArrayBuffer[] = []

  constructor(options: FrameBlocksOptions) {
    this.#options = options
  }

  /** Number of the first record that is here; `undefined` if none ever was. */
  get firstSeq(): number | undefined {
    return this.#blocks[0]?.firstSeq
  }

  /** The block that holds the record, at its end. Beyond `maxBlocks`, the oldest is forgotten. */
  append(kind: RecordKind, seq: number, at: Instant, body: string): FrameBlock {
    // A character takes at most three bytes of UTF-8; the frame is padded to a multiple of eight.
    const maxBytes = frameHeadBytes + payloadHeadBytes + body.length * 3 + 7
    const last = this.#blocks.at(-1)
    const hasRoom = last !== undefined && last.size + maxBytes <= last.bytes.length
    const block = hasRoom ? last : this.#begin(seq, maxBytes)
    const { bytes, size } = block
    const payload = size + frameHeadBytes
    const length = payloadHeadBytes + bytes.write(body, payload + payloadHeadBytes)
    bytes.writeUInt32BE(length, size)
    bytes[payload] = format
    bytes[payload + 1] = recordKinds[kind]
    bytes.writeUIntBE(0, payload + 2, 2)
    bytes.writeUIntBE(seq, payload + 4, 6)
    bytes.writeUIntBE(0, payload + 10, 2)
    bytes.writeUIntBE(at, payload + 12, 6)
    block.size = (payload + length + 7) & ~7
    bytes.fill(0, payload + length, block.size)
    block.endSeq = seq + 1
    return block
  }

  #begin(firstSeq: number, minBytes: number): FrameBlock {
    const { blockBytes, maxBlocks } = this.#options
    const bytes = Math.max(blockBytes, minBytes)
    const spare = bytes === blockBytes ? this.#spareMemory.pop() : undefined
    const memory = spare ?? new SharedArrayBuffer(bytes)
    const block: FrameBlock = {
      memory,
      bytes: Buffer.from(memory),
      firstSeq,
      endSeq: firstSeq,
      size: 0,
      writtenSize: 0,
    }
    this.#blocks.push(block)
    if (this.#blocks.length > maxBlocks) this.#blocks.shift()
    return block
  }

  /**
   * Those from a number on whose body begins with this id. A block is searched as a whole, since a walk
   * from record to record would take milliseconds; within a text, a quotation mark follows a backslash,
   * so what is found begins a body.
   */
  *recordsOf(id: string, fromSeq: number): Generator<JournalRecord> {
    const start = startOfBody(id)
    for (const { bytes, size, endSeq } of this.#blocks) {
      if (endSeq <= fromSeq) continue
      const frames = bytes.subarray(0, size)
      for (let at = frames.indexOf(start); at !== -1; at = frames.indexOf(start, at + 1)) {
        // Facts in a body may have objects that begin so; no text has the byte of the format before them.
        if (frames[at - payloadHeadBytes] !== format) continue
        const record = readRecordWithBodyAt(frames, at)
        if (record.seq >= fromSeq) yield record
      }
    }
  }

  /** Their records up to this number, excluded, are in the index. */
  forgetBefore(seq: number): void {
    for (let [oldest] = this.#blocks; this.#blocks.length > 1; [oldest] = this.#blocks) {
      if (oldest === undefined || oldest.endSeq > seq) return
      this.#blocks.shift()
      const isUsual = oldest.memory.byteLength === this.#options.blockBytes
      if (isUsual && this.#spareMemory.length < maxSpareBlocks) {
        this.#spareMemory.push(oldest.memory)
      }
    }
  }
}

interface RecentCall {
  /** Its record. */
  body: string
  /** What was noted of it since. */
  outcome: Partial<CallOutcome>
}

/** In characters; a usual record has 1,500 to 2,500. */
const maxRecentLength = 8_192

/** Calls that may be under way. When they end, their records are asked for, and reading one takes half a millisecond. */
export class RecentCalls {
  /** Longer than a call rings, and what 200 a second begin in 50 s. */
  readonly #calls = new TtlCache<RecentCall>({
    ttlMs: 300_000,
    maxEntries: 10_000,
    timers: systemTimers,
  })

  /** Keeps an allow, unless it is a what-if or unusually long; a later record of the same call replaces the first. */
  add({ id, decision, request }: Decision, body: string): void {
    const known = this.#calls.get(id)
    if (known) known.body = body
    else if (decision === 'allow' && request.at === undefined && body.length <= maxRecentLength)
      this.#calls.set(id, { body, outcome: {} })
  }

  note(id: string, outcome: Partial<CallOutcome>): void {
    const call = this.#calls.get(id)
    if (call) call.outcome = mergeOutcome(call.outcome, outcome)
  }

  /** As the journal and its index have it. */
  find(id: string): IndexedDecision | undefined {
    const call = this.#calls.get(id)
    return (
      call && { document: readRecord('decision', { id, body: call.body }), outcome: call.outcome }
    )
  }

  clear(): void {
    this.#calls.clear()
  }
}

/** Records that share a flush. */
interface RecordBatch {
  readonly records: readonly WaitingRecord[]
  readonly run: FrameRun
}

const maxBatchSize = 1_000

/** The first of them that are in one block and belong in one segment; there must be one. */
export function selectBatch(waiting: readonly WaitingRecord[]): RecordBatch {
  const { block } = waiting[0] as WaitingRecord
  let count = 0
  let end = block.writtenSize
  for (const record of waiting) {
    const isNext = record.block === block && !(record.startsSegment && count > 0)
    if (!isNext || count === maxBatchSize) break
    end = record.end
    count += 1
  }
  const run = { memory: block.memory, start: block.writtenSize, end }
  return { records: waiting.slice(0, count), run }
}
