/** Records that are not on disk, in their order. */
import type { Instant } from '../../domain/time/clock.js'
import type { FrameBlock } from './frame-block.js'

/** Called once: without a cause when the record is on disk. */
export type OnWritten = (cause?: unknown) => void

export interface WaitingRecord {
  readonly block: FrameBlock
  /** Where its frame ends in the block. */
  readonly end: number
  readonly at: Instant
  readonly decisionId: string
  /** It is the first of its batch, and so of its segment. */
  readonly startsSegment: boolean
  /** By {@link monotonicSeconds}. */
  readonly enqueuedAtSeconds: number
  readonly onWritten: OnWritten | undefined
  /** Whether it is known if the first write succeeded. */
  isSettled: boolean
}

/** Records that share a flush. */
interface RecordBatch {
  readonly block: FrameBlock
  readonly entries: readonly WaitingRecord[]
  /** Where the last one ends in the block. */
  readonly end: number
}

const maxBatchSize = 1_000

/** The first of them that are in one block and belong in one segment; there must be one. */
export function selectBatch(waiting: readonly WaitingRecord[]): RecordBatch {
  const { block } = waiting[0] as WaitingRecord
  const other = waiting.findIndex(
    (record, index) => record.block !== block || (index > 0 && record.startsSegment),
  )
  const count = Math.min(maxBatchSize, other === -1 ? waiting.length : other)
  const entries = waiting.slice(0, count)
  return { block, entries, end: entries.at(-1)?.end ?? 0 }
}
