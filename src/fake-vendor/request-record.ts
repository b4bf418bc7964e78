/** What the vendor was asked: each request of late, and counts of all. */
import { MinuteWindow } from '../http/minute-window.js'
import type { RequestTarget } from './target.js'

/** Of the head that was sent; `none` while, and if, none is. */
export type SentStatus = number | 'none'

export interface RecordedRequest {
  readonly question: RequestTarget
  /** When its head was in: milliseconds on a clock that never jumps, of which differences mean something. */
  readonly atMs: number
  /** Telephone numbers in it; 0 when it was refused before they were read. */
  readonly numbers: number
  readonly status: SentStatus
}

export interface QuestionCounts {
  readonly requests: number
  readonly numbers: number
  /** Requests by status; `none` are those without a head of an answer so far. */
  readonly byStatus: Readonly<Record<string, number>>
  /** The most requests that came in any 60 seconds, refused ones included. */
  readonly mostInAMinute: number
}

export type RequestCounts = Readonly<Partial<Record<RequestTarget, QuestionCounts>>>

/** Notes what becomes known of a request while it is answered. */
export interface RequestNote {
  asked(numbers: number): void
  /** Once, when the head of the answer goes out. */
  sent(status: number): void
}

/** Requests that can be read one by one; counts know of all. */
const mostKept = 10_000

interface Counted {
  requests: number
  numbers: number
  readonly byStatus: Map<SentStatus, number>
  readonly window: MinuteWindow
  mostInAMinute: number
}

type Kept = { -readonly [Field in keyof RecordedRequest]: RecordedRequest[Field] }

export class RequestRecord {
  #kept: Kept[] = []
  #counts = new Map<RequestTarget, Counted>()

  begin(question: RequestTarget, atMs: number): RequestNote {
    const kept: Kept = { question, atMs, numbers: 0, status: 'none' }
    this.#kept.push(kept)
    if (this.#kept.length >= 2 * mostKept) this.#kept = this.#kept.slice(-mostKept)
    const counts = this.#countsOf(question)
    counts.requests += 1
    counts.window.add(atMs)
    counts.mostInAMinute = Math.max(counts.mostInAMinute, counts.window.countAt(atMs))
    shift(counts.byStatus, 'none', 1)
    return {
      asked(numbers) {
        kept.numbers = numbers
        counts.numbers += numbers
      },
      sent(status) {
        kept.status = status
        shift(counts.byStatus, 'none', -1)
        shift(counts.byStatus, status, 1)
      },
    }
  }

  /** The latest 10,000, oldest first, as they are now. */
  requests(): readonly RecordedRequest[] {
    return this.#kept.slice(-mostKept).map((request) => ({ ...request }))
  }

  counts(): RequestCounts {
    return Object.fromEntries(
      [...this.#counts].map(([question, { requests, numbers, byStatus, mostInAMinute }]) => [
        question,
        { requests, numbers, byStatus: Object.fromEntries(byStatus), mostInAMinute },
      ]),
    )
  }

  reset(): void {
    this.#kept = []
    this.#counts = new Map()
  }

  #countsOf(question: RequestTarget): Counted {
    const known = this.#counts.get(question)
    if (known) return known
    const made: Counted = {
      ...{ requests: 0, numbers: 0, mostInAMinute: 0 },
      ...{ byStatus: new Map(), window: new MinuteWindow() },
    }
    this.#counts.set(question, made)
    return made
  }
}

function shift(counts: Map<SentStatus, number>, status: SentStatus, by: number): void {
  const count = (counts.get(status) ?? 0) + by
  if (count === 0) counts.delete(status)
  else counts.set(status, count)
}
