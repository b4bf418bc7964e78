/**
 * Combines two providers: the second replaces a first that does not answer, or both are asked and
 * each must permit. The checks decide which calls are permitted; the cache keeps answers.
 */

import type {
  Answer,
  AnswerFailure,
  AnswerSuccess,
  Compliance,
  InternalDncStatus,
  LegalTimeQuestion,
  MaybePromise,
  Question,
  ScrubVerdict,
  UnavailablePrimary,
} from '../../domain/compliance.js'
import type { Timers } from '../../domain/time/clock.js'
import { combineFailures, requireAllPermit } from './require-all-permit.js'

export interface CombineOptions {
  /**
   * - `fallback`: the second is asked when the first does not answer, or not soon;
   * - `any-no-blocks`: both are always asked at once, and each must permit.
   */
  readonly mode: 'fallback' | 'any-no-blocks'
  /** The second is asked as well when the first has not answered after this time. */
  readonly fallbackAfterMs: number
  /** With `any-no-blocks`: how long after the question a denial that may be overridden waits for the other. */
  readonly maxDenialWaitMs: number
  readonly timers: Timers
}

/**
 * - `fallback`: whichever answer comes first, the second's marked `unavailablePrimary`; a failure only
 *   when both fail. In the background the first is waited for however long it takes.
 * - `any-no-blocks`: the first's answer with the second's in `otherAnswers`; if one fails, the other's
 *   with that failure in `otherAnswers`. A final denial does not wait for the other source; one that
 *   may be overridden waits at most `maxDenialWaitMs`.
 */
export function combineProviders(
  first: Compliance,
  second: Compliance,
  options: CombineOptions,
): Compliance {
  return new CombinedCompliance(first, second, options)
}

type AskSource<T> = (source: Compliance) => MaybePromise<Answer<T>>

/** Which values deny for good, and which deny something that may still be permitted. */
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
    const isDenial =
      callKind && ((row: ScrubVerdict) => row.doNotCallToday || !row.allowed[callKind])
    return this.#ask(question, (source) => source.scrub(question), {
      isFinal: isDeniedForEveryKind,
      isDenial,
    })
  }

  /** A permission record may override an entry, but only once the other list is known. */
  internalDnc(question: Question) {
    return this.#ask(question, (source) => source.internalDnc(question), {
      isFinal: () => false,
      isDenial: ({ onList }: InternalDncStatus) => onList,
    })
  }

  litigator(question: Question) {
    return this.#ask(question, (source) => source.litigator(question), {
      isFinal: ({ isLitigator }) => isLitigator,
    })
  }

  legalTime(question: LegalTimeQuestion) {
    return this.#ask(question, (source) => source.legalTime(question), {
      isFinal: ({ permitted }) => !permitted,
    })
  }

  #ask<T>(question: Question, ask: AskSource<T>, denials: DenialTests<T>) {
    return this.#options.mode === 'fallback'
      ? this.#askWithFallback(question, ask)
      : this.#askBoth(question, ask, denials)
  }

  /** In the background there is no hurry, and complete answers are preferred. */
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

  /** If the second source fails too, the first is still waited for. */
  #askSecondWhenSlow<T>(
    first: Promise<Answer<T>>,
    askSecond: () => MaybePromise<Answer<T>>,
  ): Promise<Answer<T>> {
    const { timers, fallbackAfterMs } = this.#options
    const reason = `not answered within ${fallbackAfterMs} ms`
    return new Promise((resolve, reject) => {
      let second: Promise<Answer<T>> | undefined
      const askOnce = () => {
        second ??= new Promise((resolveSecond) => resolveSecond(askSecond()))
        return second
      }
      const cancelTimer = timers.after(fallbackAfterMs, () => {
        const useIfAnswered = (answer: Answer<T>) =>
          answer.ok && resolve(markAsReplacement(answer, { reason, lateAnswer: first }))
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

/** A row that permits any kind of call is not a denial: the cache uses it for all kinds. */
function isDeniedForEveryKind({ allowed, doNotCallToday }: ScrubVerdict): boolean {
  if (doNotCallToday) return true
  return !allowed.manual && !allowed.autodialed && !allowed.ai
}

/** The second's answer in place of the first's failure. */
function useSecondAnswer<T>(
  first: AnswerFailure,
  second: MaybePromise<Answer<T>>,
): MaybePromise<Answer<T>> {
  if (second instanceof Promise) return second.then((answer) => useSecondAnswer(first, answer))
  return second.ok
    ? markAsReplacement(second, { reason: first.detail })
    : combineFailures(first, second)
}

function markAsReplacement<T>(
  answer: AnswerSuccess<T>,
  unavailablePrimary: UnavailablePrimary<T>,
): AnswerSuccess<T> {
  return { ...answer, unavailablePrimary }
}
