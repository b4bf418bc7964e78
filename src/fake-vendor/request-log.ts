/** The latest requests to the vendor, and counts of all of them. */
import { MinuteWindow } from '../http/limits/minute-window.js'
import type { RequestTarget } from './request-target.js'

/** Status in the head of the answer; `none` until one is sent. */
type SentStatus = number | 'none'

export interface RecordedRequest {
  readonly question: RequestTarget
  /** When its head was received, in milliseconds of a monotonic clock. */
  readonly atMs: number
  /** Telephone numbers in it; 0 if it was refused before they were read. */
  readonly numbers: number
  readonly status: SentStatus
}

interface QuestionCounts {
  readonly requests: number
  readonly numbers: number
  /** Requests by status. */
  readonly byStatus: Readonly<Record<string, number>>
  /** Maximum requests in any 60 seconds, including refused ones. */
  readonly mostInAMinute: number
}

export type RequestCounts = Readonly<Partial<Record<RequestTarget, QuestionCounts>>>

/** Records details of a request while it is answered. */
export interface RequestObserver {
  onNumbers(numbers: number): void
  /** Called once, when the head of the answer is sent. */
  onReply(status: number): void
}

const maxRecorded = 10_000

interface MutableCounts {
  requests: number
  numbers: number
  readonly byStatus: Map<SentStatus, number>
  readonly window: MinuteWindow
  mostInAMinute: number
}

type MutableRequest = { -readonly [Field in keyof RecordedRequest]: RecordedRequest[Field] }

export class RequestLog {
  #requests: MutableRequest[] = []
  #counts = new Map<RequestTarget, MutableCounts>()

  add(question: RequestTarget, atMs: number): RequestObserver {
    const kept: MutableRequest = { question, atMs, numbers: 0, status: 'none' }
    this.#requests.push(kept)
    if (this.#requests.length >= 2 * maxRecorded)
      this.#requests = this.#requests.slice(-maxRecorded)
    const counts = this.#getCounts(question)
    counts.requests += 1
    counts.window.add(atMs)
    counts.mostInAMinute = Math.max(counts.mostInAMinute, counts.window.countAt(atMs))
    adjustCount(counts.byStatus, 'none', 1)
    return {
      onNumbers(numbers) {
        kept.numbers = numbers
        counts.numbers += numbers
      },
      onReply(status) {
        kept.status = status
        adjustCount(counts.byStatus, 'none', -1)
        adjustCount(counts.byStatus, status, 1)
      },
    }
  }

  /** A copy of the latest 10,000, oldest first. */
  requests(): readonly RecordedRequest[] {
    return this.#requests.slice(-maxRecorded).map((request) => ({ ...request }))
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
    this.#requests = []
    this.#counts = new Map()
  }

  #getCounts(question: RequestTarget): MutableCounts {
    const known = this.#counts.get(question)
    if (known) return known
    const made: MutableCounts = {
      requests: 0,
      numbers: 0,
      mostInAMinute: 0,
      byStatus: new Map(),
      window: new MinuteWindow(),
    }
    this.#counts.set(question, made)
    return made
  }
}

function adjustCount(counts: Map<SentStatus, number>, status: SentStatus, by: number): void {
  const count = (counts.get(status) ?? 0) + by
  if (count === 0) counts.delete(status)
  else counts.set(status, count)
}
