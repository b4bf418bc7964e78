/** What a journal is opened with. */
import type { Clock, Instant } from '../../domain/time/clock.js'
import type { OpenedFile } from '../../storage/open-files.js'
import type { SegmentEvent } from './index-writer.js'
import type { IndexForm } from './search/index-file.js'

/** What happens to the records of a journal. */
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

export interface JournalOptions {
  /** Of the journal and its index; made when missing. */
  readonly dataDir: string
  readonly clock: Clock
  /** That database, as it was opened. */
  readonly databaseFiles: readonly OpenedFile[]
  /** Looks at the files of the database: why what was decided from it cannot be trusted, for people. */
  readonly checkFault: () => Promise<string | undefined>
  readonly observer: JournalObserver
  /** Of the program, for the record of each start. */
  readonly version: string
  /** Name of the installation, for that record too. */
  readonly installation?: string
  /** How long decisions are kept. */
  readonly keepYears: number
  /** Of the private key that signs the tree, made with it; by default `journal.key` in `dataDir`. */
  readonly signingKeyFile?: string | undefined
  /** How many records wait at most. */
  readonly maxWaiting?: number
  readonly maxSegmentBytes?: number
  /** How many blocks of records, 1 MB each, are kept in memory while the index is behind. */
  readonly maxUnindexedBlocks?: number
  readonly blockBytes?: number
  /** By default the one it has. */
  readonly indexForm?: IndexForm
}
