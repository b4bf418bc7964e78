/** What happens to the records of a journal. */
import type { Instant } from '../../domain/time/clock.js'
import type { SegmentEvent } from './index-writer.js'

export interface JournalObserver {
  /** With the instant of a record that is on disk. */
  onWritten(at: Instant): void
  /** Once for each decision whose first write failed. */
  onFailure(): void
  /** Once for each decision that may not be acted on, since it is not on record, and why. */
  onUnrecorded(decisionId: string, cause: unknown): void
  onLoss(count: number): void
  /** With the seconds that a batch of records took until it was on disk. */
  onFlushed(seconds: number): void
  /** With the number of records on disk that are not in the index. */
  onIndexLag(records: number): void
  /** The index could not be brought up to date; it is tried again. */
  onIndexFailure(cause: unknown): void
  onSegmentEvent(event: SegmentEvent): void
}
