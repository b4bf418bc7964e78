/**
 * What becomes of the questions of a failed request: they are asked again with another key, by
 * halves, or after a rest. Those that nobody waits for by then end with the failure.
 */
import type { Question, QuestionName } from '../../domain/compliance.js'
import type { ExchangeFailure } from './exchange.js'
import type { NoAnswer } from './no-answer.js'
import type { ProviderOptions } from './provider-options.js'
import { Resting } from './resting.js'
import { retryWaitMs } from './retry.js'
import type { Questions, SharedQuestion } from './shared-question.js'

export interface FailedQuestionsParts<
  Asks extends Question,
  Value,
  Name extends string = QuestionName,
> {
  readonly options: ProviderOptions<Name>
  /** Questions of a refused request are asked again by halves, so that one spoils no others. */
  readonly halvesRefused?: boolean
  /** Told of every question that is not asked again. */
  readonly ended: (question: SharedQuestion<Asks, Value>, why: NoAnswer) => void
}

interface NextAttempt {
  readonly fromMs: number
  readonly mostAttempts?: number
}

export class FailedQuestions<Asks extends Question, Value, Name extends string = QuestionName> {
  /** Those whose next attempt is later. */
  readonly resting = new Resting<SharedQuestion<Asks, Value>>()
  readonly #parts: FailedQuestionsParts<Asks, Value, Name>
  #halves = 0

  constructor(parts: FailedQuestionsParts<Asks, Value, Name>) {
    this.#parts = parts
  }

  /** To be sent at once with the key that is had anew, which is tried once. */
  withNewKey(questions: Questions<Asks, Value>, failure: NoAnswer): Questions<Asks, Value> {
    for (const one of questions) one.isWithNewKey = true
    return this.wanted(questions, failure, { fromMs: this.#now() })
  }

  /** Whether one question may be why all of them were refused. */
  canHalve(questions: Questions<Asks, Value>, { mayBeOfOne = false }: ExchangeFailure): boolean {
    return mayBeOfOne && questions.length > 1 && this.#parts.halvesRefused === true
  }

  /**
   * To be sent at once, in two groups. Of n questions that are all refused come 2n - 1 requests, at
   * the rate and within the deadlines.
   */
  inHalves(questions: Questions<Asks, Value>, failure: NoAnswer): Questions<Asks, Value> {
    const wanted = this.wanted(questions, failure, { fromMs: this.#now() })
    const middle = Math.ceil(wanted.length / 2)
    for (const half of [wanted.slice(0, middle), wanted.slice(middle)]) {
      this.#halves += 1
      for (const one of half) one.group = `half ${this.#halves}`
    }
    return wanted
  }

  /** They rest until their next attempt; after a probe, or with an open circuit, there is none. */
  rest(
    questions: Questions<Asks, Value>,
    failure: ExchangeFailure,
    { isProbe, isCircuitOpen }: { readonly isProbe: boolean; readonly isCircuitOpen: boolean },
  ): void {
    const { random, limits } = this.#parts.options
    const mayRetry = failure.isPassing && !isProbe && !isCircuitOpen
    const most = mayRetry ? limits.retries : 0
    for (const one of questions) one.attempts += 1
    const attempts = questions.reduce((highest, one) => Math.max(highest, one.attempts), 1)
    const atMs = this.#now() + Math.max(retryWaitMs(attempts, random), failure.waitMs)
    const again = this.wanted(questions, failure, { fromMs: atMs, mostAttempts: most })
    if (again.length > 0) this.resting.add(again, atMs)
  }

  /** Those that somebody still waits for at that time, on the monotonic clock; the others end. */
  wanted(
    questions: Questions<Asks, Value>,
    failure: NoAnswer,
    { fromMs, mostAttempts = Number.POSITIVE_INFINITY }: NextAttempt,
  ): Questions<Asks, Value> {
    const wanted: SharedQuestion<Asks, Value>[] = []
    for (const one of questions) {
      if (one.lastDeadlineMs > fromMs && one.attempts <= mostAttempts) wanted.push(one)
      else this.#parts.ended(one, failure)
    }
    return wanted
  }

  #now(): number {
    return this.#parts.options.timers.monotonicMs()
  }
}
