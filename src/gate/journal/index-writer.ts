/** Brings the index up to the journal. Runs in a thread of its own, since it writes to a database. */
import { DataFileError, getErrorMessage } from '../../errors.js'
import { monotonicSeconds } from '../../runtime/runtime.js'
import { runInThread, type ThreadWork } from '../../runtime/thread.js'
import { DecisionIndex } from './decision-index.js'
import { compressOldestSegment, JournalReader } from './journal-reader.js'

export interface IndexWriterOptions {
  /** Of the journal. */
  readonly folder: string
  readonly indexPath: string
  /** Of the database that may hold decisions from before the journal. */
  readonly databasePath: string
}

export interface IndexProgress {
  /** Number of the first record that is not in the index. */
  readonly nextSeq: number
  /** Whether some of the decisions from before the journal are not in the index yet. */
  readonly hasOldDecisions: boolean
  /** Why a complete segment could not be compressed just now, which does not hold up the index. */
  readonly compressionFailure: string | undefined
}

/** The disk is probably full, so trying again at once would not help. */
const compressionRetrySeconds = 60

class IndexWriter {
  readonly #options: IndexWriterOptions
  readonly #index: DecisionIndex
  #reader: JournalReader | undefined
  #hasOldDecisions = true
  #nextCompressionSeconds = 0

  constructor(options: IndexWriterOptions) {
    this.#options = options
    this.#index = new DecisionIndex(options.indexPath, options.folder)
  }

  /**
   * Adds the next records, up to and including number `lastSeq`, about two megabytes of them at a time,
   * and the next decisions from before the journal. When that is done, compresses one segment that is
   * complete.
   */
  handle(lastSeq: number): IndexProgress {
    try {
      this.#reader ??= new JournalReader(this.#options.folder, this.#index.nextSeq)
      const records = this.#reader.read(lastSeq)
      const { nextSeq } = this.#reader
      if (records.length === 0 && nextSeq <= lastSeq) {
        throw new DataFileError(this.#options.folder, `record ${nextSeq} cannot be read`)
      }
      this.#index.add(records)
      this.#hasOldDecisions &&= this.#index.carryOver(this.#options.databasePath)
      const compressionFailure = nextSeq > lastSeq ? this.#compress(nextSeq) : undefined
      return { nextSeq, hasOldDecisions: this.#hasOldDecisions, compressionFailure }
    } catch (cause) {
      // The next attempt begins where the index ends.
      this.#reader?.close()
      this.#reader = undefined
      throw cause
    }
  }

  /** Gives the reason of a failure. */
  #compress(nextSeq: number): string | undefined {
    if (monotonicSeconds() < this.#nextCompressionSeconds) return undefined
    try {
      compressOldestSegment(this.#options.folder, nextSeq)
      return undefined
    } catch (cause) {
      this.#nextCompressionSeconds = monotonicSeconds() + compressionRetrySeconds
      return getErrorMessage(cause)
    }
  }

  close(): void {
    this.#reader?.close()
    this.#index.close()
  }
}

export const indexWriting: ThreadWork<IndexWriterOptions, number, IndexProgress> = {
  module: import.meta.url,
  isBackground: true,
  create: (options) => new IndexWriter(options),
}

runInThread(indexWriting)
