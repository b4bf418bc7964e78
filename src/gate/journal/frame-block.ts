/**
 * Memory in which records are laid out as frames, once, for the thread that writes them and for reads
 * of what is not in the index yet. It lies outside the heap, so a waiting record is no work for the
 * garbage collector, and nothing is copied to the other thread.
 */
import {
  type FrameHead,
  type FrameRun,
  type JournalRecord,
  layOutFrame,
  maxFrameBytes,
  readFrames,
} from './segment-format.js'

export class FrameBlock {
  /** Numbers of its records; none while `endSeq` is `firstSeq`. */
  readonly firstSeq: number
  endSeq: number
  /** Where the next frame begins. */
  size = 0
  /** So much of it is on disk. */
  writtenSize = 0
  /** May have been that of another block. */
  readonly memory: SharedArrayBuffer
  readonly #bytes: Buffer

  constructor(firstSeq: number, memory: SharedArrayBuffer) {
    this.firstSeq = firstSeq
    this.endSeq = firstSeq
    this.memory = memory
    this.#bytes = Buffer.from(memory)
  }

  /** Adds the record with number `endSeq`. False if there may not be enough room for it. */
  append(record: Omit<FrameHead, 'seq'> & { readonly body: string }): boolean {
    const { kind, at, body } = record
    const end = layOutFrame(this.#bytes, this.size, { kind, seq: this.endSeq, at, body })
    if (end === undefined) return false
    this.size = end
    this.endSeq += 1
    return true
  }

  /** The frames that are not on disk, up to this offset. */
  run(end: number): FrameRun {
    return { memory: this.memory, start: this.writtenSize, end }
  }

  records(): Generator<JournalRecord> {
    return readFrames(this.#bytes.subarray(0, this.size))
  }
}

type NewRecord = Parameters<FrameBlock['append']>[0]

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
  append(record: NewRecord, seq: number): FrameBlock {
    const last = this.#blocks.at(-1)
    if (last?.append(record)) return last
    const { blockBytes, maxBlocks } = this.#options
    const bytes = Math.max(blockBytes, maxFrameBytes(record.body))
    const spare = bytes === blockBytes ? this.#spareMemory.pop() : undefined
    const block = new FrameBlock(seq, spare ?? new SharedArrayBuffer(bytes))
    block.append(record)
    this.#blocks.push(block)
    if (this.#blocks.length > maxBlocks) this.#blocks.shift()
    return block
  }

  /** Those from a number on whose body begins with this id. */
  *recordsOf(id: string, fromSeq: number): Generator<JournalRecord> {
    const start = Buffer.from(`{"id":${JSON.stringify(id)}`)
    for (const block of this.#blocks) {
      if (block.endSeq <= fromSeq) continue
      for (const record of block.records()) {
        if (record.seq < fromSeq) continue
        if (record.body.subarray(0, start.length).equals(start)) yield record
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
