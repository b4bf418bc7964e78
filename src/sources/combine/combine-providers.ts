/**
 * Combines two providers: the second is a fallback for the first, or both are asked and each must
 * permit. The checks decide which calls are permitted; the cache stores answers.
 */

import {
  type Answer,
  type AnswerFailure,
  type AnswerSuccess,
  type CallRow,
  type Compliance,
  combineFailures,
  type InternalDncStatus,
  type MaybePromise,
  type Question,
  type UnavailablePrimary,
} from '../../domain/compliance.js'
import type { Timers } from '../../domain/time/clock.js'
import { entryPermits, hoursPermit, litigatorPermits, rowPermits } from '../../judge/permits.js'
import { requireAllPermit } from './require-all-permit.js'

export interface CombineOptions {
  /**
   * - `fallback`: the second is asked if the first fails or is slow;
   * - `any-no-blocks`: both are always asked at once, and each must permit.
   */
  readonly mode: 'fallback' | 'any-no-blocks'
  /** The second is asked as well if the first has not answered within this time. */
  readonly fallbackAfterMs: number
  /** With `any-no-blocks`: how long a denial that may be overridden waits for the other provider. */
  readonly maxDenialWaitMs: number
  readonly timers: Timers
}

/**
 * The answer depends on the mode:
 *
 * - `fallback`: whichever answer arrives first, the second's marked `unavailablePrimary`; a failure only
 *   if both fail. Background questions wait for the first, however long it takes.
 * - `any-no-blocks`: the first's answer with the second's in `otherAnswers`; if one fails, the other's
 *   answer with that failure in `otherAnswers`. A final denial does not wait for the other provider; one
 *   that may be overridden waits at most `maxDenialWaitMs`.
 */
export function combineProviders(
  first: Compliance,
  second: Compliance,
  options: CombineOptions,
): Compliance {
  return new CombinedCompliance(first, second, options)
}

type AskSource<T> = (source: Compliance) => MaybePromise<Answer<T>>

/** Which values are final denials, and which are denials that may still be overridden. */
interface DenialTests<T> {
  readonly isFinal: (value: T) => boolean
  readonly isDenial?: ((value: T) => boolean) | undefined
}

class CombinedCompliance implements Compliance {
  readonly #first: Compliance
  readonly #second: Compliance
  readonly #options: CombineOptions

  constructor(first: Compliance, second: Compliance, options: CombineOptions) {
    this.#first = first
    this.#second = second
    this.#options = options
  }

  scrub(question: Question) {
    const { callKind } = question
    const isDenial = callKind && ((row: CallRow) => !rowPermits(row, callKind))
    return this.#ask(question, (source) => source.scrub(question), {
      isFinal: (row) => !rowPermits(row),
      isDenial,
    })
  }

  /** A permission record may override an entry, so a denial waits for the other list. */
  internalDnc(question: Question) {
    return this.#ask(question, (source) => source.internalDnc(question), {
      isFinal: () => false,
      isDenial: (status: InternalDncStatus) => !entryPermits(status),
    })
  }

  litigator(question: Question) {
    return this.#ask(question, (source) => source.litigator(question), {
      isFinal: (status) => !litigatorPermits(status),
    })
  }

  legalTime(question: Question) {
    return this.#ask(question, (source) => source.legalTime(question), {
      isFinal: (legalTime) => !hoursPermit(legalTime),
    })
  }

  #ask<T>(question: Question, ask: AskSource<T>, denials: DenialTests<T>) {
    return this.#options.mode === 'fallback'
      ? this.#askWithFallback(question, ask)
      : this.#askBoth(question, ask, denials)
  }

  /** Background questions wait for both, since complete answers are preferred and none is urgent. */
  #askBoth<T>(
    { inBackground }: Question,
    ask: AskSource<T>,
    { isFinal, isDenial }: DenialTests<T>,
  ): MaybePromise<Answer<T>> {
    const { maxDenialWaitMs, timers } = this.#options
    const hasGracePeriod = isDenial !== undefined && inBackground !== true
    const untilMs = timers.monotonicMs() + maxDenialWaitMs
    return requireAllPermit(ask(this.#first), ask(this.#second), {
      isFinal,
      ...(hasGracePeriod && { gracePeriod: { isDenial, untilMs, timers } }),
    })
  }

  #askWithFallback<T>({ inBackground }: Question, ask: AskSource<T>): MaybePromise<Answer<T>> {
    const first = ask(this.#first)
    const askSecond = () => ask(this.#second)
    if (!(first instanceof Promise)) return first.ok ? first : useSecondAnswer(first, askSecond())
    if (!inBackground) return this.#askSecondWhenSlow(first, askSecond)
    return first.then((answer) => (answer.ok ? answer : useSecondAnswer(answer, askSecond())))
  }

  /** If the second source fails too, still waits for the first. */
  #askSecondWhenSlow<T>(
    first: Promise<Answer<T>>,
    askSecond: () => MaybePromise<Answer<T>>,
  ): Promise<Answer<T>> {
    const { timers, fallbackAfterMs } = this.#options
    const says = [{ code: 'not-answered-within', params: { ms: fallbackAfterMs } }] as const
    return new Promise((resolve, reject) => {
      let second: Promise<Answer<T>> | undefined
      const askOnce = () => {
        second ??= new Promise((resolveSecond) => resolveSecond(askSecond()))
        return second
      }
      const cancelTimer = timers.after(fallbackAfterMs, () => {
        const useIfAnswered = (answer: Answer<T>) =>
          answer.ok && resolve(markAsReplacement(answer, { says, lateAnswer: first }))
        askOnce().then(useIfAnswered, () => undefined)
      })
      first.then(
        (answer) => {
          cancelTimer()
          resolve(answer.ok ? answer : useSecondAnswer(answer, askOnce()))
        },
        (cause: unknown) => {
          cancelTimer()
          reject(cause)
        },
      )
    })
  }
}

/** A row that permits any kind of call is not a denial, since the cache uses the row for all kinds. */
/** Returns the second's answer, marked as a replacement for the first's failure. */
function useSecondAnswer<T>(
  first: AnswerFailure,
  second: MaybePromise<Answer<T>>,
): MaybePromise<Answer<T>> {
  if (second instanceof Promise) return second.then((answer) => useSecondAnswer(first, answer))
  return second.ok
    ? markAsReplacement(second, { says: first.says })
    : combineFailures(first, second)
}

function markAsReplacement<T>(
  answer: AnswerSuccess<T>,
  unavailablePrimary: UnavailablePrimary<T>,
): AnswerSuccess<T> {
  return { ...answer, unavailablePrimary }
}
