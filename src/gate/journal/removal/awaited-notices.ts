import { monotonicSeconds } from '../../../runtime/runtime.js'
import { type NoteContent, writeRecord } from '../../record/write-note.js'
import type { JournalRecord } from '../segment-format.js'

/** The journal may have given up a notice because too many records waited. */
const askAgainSeconds = 60

type Notice = NoteContent<'notice'>

/** Notices that the journal is to have. What they announce is done once they are signed. */
export class AwaitedNotices {
  /** By their text, without those that the journal has. */
  readonly #missing: Map<string, Notice>
  #lastSeq = 0
  #askAgainAtSeconds = 0

  constructor(notices: readonly Notice[]) {
    this.#missing = new Map(notices.map((notice) => [writeRecord('notice', notice), notice]))
  }

  /** Those to be added to the journal now. */
  take(): readonly Notice[] {
    if (!this.isDue) return []
    this.#askAgainAtSeconds = monotonicSeconds() + askAgainSeconds
    return [...this.#missing.values()]
  }

  /** Whether {@link AwaitedNotices.take} has any. */
  get isDue(): boolean {
    return this.#missing.size > 0 && monotonicSeconds() >= this.#askAgainAtSeconds
  }

  /** Is given each notice that is in the journal. */
  add({ seq, body }: JournalRecord): void {
    if (this.#missing.delete(body.toString())) this.#lastSeq = seq
  }

  /** Number of the last one once the journal has all of them. */
  get lastSeq(): number | undefined {
    return this.#missing.size === 0 ? this.#lastSeq : undefined
  }
}
