/**
 * Decides what happens to the questions of a failed request: they are retried with another key, in
 * halves, or after a delay. Those whose deadline is earlier are settled with the failure.
 */
import type { Question } from '../../../domain/compliance.js'
import { computeRetryDelayMs } from '../client/backoff.js'
import type { QuestionFailure } from '../client/question-failure.js'
import type { RequestFailure } from '../client/send-batch.js'
import type { ProviderOptions } from '../provider-options.js'
import type { CoalescedQuestion, CoalescedQuestions } from './coalesced-question.js'

export interface RetryPolicyDeps<Asks extends Question, Value> {
  readonly options: ProviderOptions<string>
  /** Whether questions of a rejected request are retried in halves, so that one does not fail all others. */
  readonly splitsRefusedBatches?: boolean
  /** Called for every question that is not retried. */
  readonly onSettled: (question: CoalescedQuestion<Asks, Value>, why: QuestionFailure) => void
}

interface RetryLimits {
  readonly retryAtMs: number
  readonly maxAttempts?: number
}

export class RetryPolicy<Asks extends Question, Value> {
  /** Questions waiting for their next attempt. */
  readonly queue = new RetryQueue<CoalescedQuestion<Asks, Value>>()
  readonly #deps: RetryPolicyDeps<Asks, Value>
  #splitCount = 0

  constructor(deps: RetryPolicyDeps<Asks, Value>) {
    this.#deps = deps
  }

  /** The questions to resend immediately with a new key, which is tried only once. */
  retryWithNewKey(
    questions: CoalescedQuestions<Asks, Value>,
    failure: QuestionFailure,
  ): CoalescedQuestions<Asks, Value> {
    for (const one of questions) one.hasNewKey = true
    return this.keepRetryable(questions, failure, { retryAtMs: this.#now() })
  }

  /** Whether a single question may be the reason why all of them were rejected. */
  canSplit(questions: CoalescedQuestions<Asks, Value>, { isSplittable }: RequestFailure): boolean {
    return isSplittable && questions.length > 1 && this.#deps.splitsRefusedBatches === true
  }

  /**
   * The questions to resend immediately, in two groups. If all n questions are rejected, this results
   * in 2n - 1 requests, within the rate limit and the deadlines.
   */
  splitInHalves(
    questions: CoalescedQuestions<Asks, Value>,
    failure: QuestionFailure,
  ): CoalescedQuestions<Asks, Value> {
    const retried = this.keepRetryable(questions, failure, { retryAtMs: this.#now() })
    const middle = Math.ceil(retried.length / 2)
    for (const half of [retried.slice(0, middle), retried.slice(middle)]) {
      this.#splitCount += 1
      for (const one of half) one.group = `half ${this.#splitCount}`
    }
    return retried
  }

  /** Delays the questions until their next attempt; there is none after a probe or with an open circuit. */
  scheduleRetry(
    questions: CoalescedQuestions<Asks, Value>,
    failure: RequestFailure,
    { isProbe, isCircuitOpen }: { readonly isProbe: boolean; readonly isCircuitOpen: boolean },
  ): void {
    const { random, limits } = this.#deps.options
    const mayRetry = failure.isRetryable && !isProbe && !isCircuitOpen
    const maxAttempts = mayRetry ? limits.retries : 0
    for (const one of questions) one.attempts += 1
    const attempts = questions.reduce((highest, one) => Math.max(highest, one.attempts), 1)
    const atMs = this.#now() + Math.max(computeRetryDelayMs(attempts, random), failure.retryAfterMs)
    const retried = this.keepRetryable(questions, failure, { retryAtMs: atMs, maxAttempts })
    if (retried.length > 0) this.queue.add(retried, atMs)
  }

  /** Returns the questions with a deadline after `retryAtMs`, on the monotonic clock; settles the others. */
  keepRetryable(
    questions: CoalescedQuestions<Asks, Value>,
    failure: QuestionFailure,
    { retryAtMs, maxAttempts = Number.POSITIVE_INFINITY }: RetryLimits,
  ): CoalescedQuestions<Asks, Value> {
    const wanted: CoalescedQuestion<Asks, Value>[] = []
    for (const one of questions) {
      if (one.lastDeadlineMs > retryAtMs && one.attempts <= maxAttempts) wanted.push(one)
      else this.#deps.onSettled(one, failure)
    }
    return wanted
  }

  #now(): number {
    return this.#deps.options.timers.monotonicMs()
  }
}

interface DelayedBatch<Shared> {
  readonly untilMs: number
  readonly questions: readonly Shared[]
}

/** Failed questions waiting for their next attempt. */
class RetryQueue<Shared extends { state: string }> {
  #batches: readonly DelayedBatch<Shared>[] = []

  add(questions: readonly Shared[], untilMs: number): void {
    for (const one of questions) one.state = 'delayed'
    this.#batches = [...this.#batches, { untilMs, questions }]
  }

  /** Removes and returns the questions whose delay has ended. */
  take(nowMs: number): readonly Shared[] {
    const due = this.#batches.filter(({ untilMs }) => untilMs <= nowMs)
    if (due.length > 0) this.#batches = this.#batches.filter(({ untilMs }) => untilMs > nowMs)
    return due.flatMap(listDelayed)
  }

  /** Removes and returns all questions. */
  clear(): readonly Shared[] {
    return this.take(Number.POSITIVE_INFINITY)
  }

  /** When the first delay ends; infinity without any. */
  getNextRetryMs(): number {
    this.#batches = this.#batches.filter(({ questions }) =>
      questions.some(({ state }) => state === 'delayed'),
    )
    return this.#batches.reduce((least, { untilMs }) => Math.min(least, untilMs), Infinity)
  }
}

/** Leaves out questions that were settled in the meantime. */
function listDelayed<Shared extends { state: string }>({
  questions,
}: DelayedBatch<Shared>): Shared[] {
  return questions.filter(({ state }) => state === 'delayed')
}
