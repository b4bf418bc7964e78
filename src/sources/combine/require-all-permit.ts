/**
 * Combines the answers of two sources to one question, so that a call is permitted only if both permit
 * it. The caller defines which values permit a call.
 */

import {
  type Answer,
  type AnswerSuccess,
  combineFailures,
  flattenAnswers,
  hasAnswerWhere,
  type MaybePromise,
} from '../../domain/compliance.js'
import type { Timers } from '../../domain/time/clock.js'

/** Defines when an answer is returned before the other source has answered. */
export interface EarlyDenial<T> {
  /** Whether a value is a final denial, which does not wait for the other source. */
  readonly isFinal: (value: T) => boolean
  /**
   * Denials that something else may override, such as a permission record. They wait for the other
   * source, which is treated as failed at the end of the period, before the question itself times out.
   */
  readonly gracePeriod?: {
    readonly isDenial: (value: T) => boolean
    /** On the timers' clock. */
    readonly untilMs: number
    readonly timers: Timers
  }
}

/**
 * Returns the first's answer with the second's in `otherAnswers`. If
 * one fails, its failure is added to the other's answer; two failures become one that names both.
 * Synchronous if both answers are.
 */
export function requireAllPermit<T>(
  first: MaybePromise<Answer<T>>,
  second: MaybePromise<Answer<T>>,
  early: EarlyDenial<T>,
): MaybePromise<Answer<T>> {
  if (!(first instanceof Promise) && !(second instanceof Promise))
    return combineAnswers(first, second)
  return new Promise((resolve, reject) => {
    const received: { first?: Answer<T>; second?: Answer<T> } = {}
    let cancelTimer: (() => void) | undefined
    const finish = (answer: Answer<T>) => {
      cancelTimer?.()
      resolve(answer)
    }
    const settle = (latest: Answer<T>) => {
      const { first, second } = received
      if (first && second) finish(combineAnswers(first, second))
      else if (hasAnswerWhere(latest, early.isFinal)) finish(latest)
      else cancelTimer = resolveAfterGracePeriod(latest, early, finish)
    }
    const fail = (cause: unknown) => {
      cancelTimer?.()
      reject(cause)
    }
    const receive = (of: 'first' | 'second') => (answer: Answer<T>) => {
      received[of] = answer
      settle(answer)
    }
    Promise.resolve(first).then(receive('first'), fail)
    Promise.resolve(second).then(receive('second'), fail)
  })
}

function resolveAfterGracePeriod<T>(
  latest: Answer<T>,
  { gracePeriod }: EarlyDenial<T>,
  finish: (answer: Answer<T>) => void,
): (() => void) | undefined {
  if (!gracePeriod || !hasAnswerWhere(latest, gracePeriod.isDenial)) return undefined
  const { untilMs, timers } = gracePeriod
  const ms = Math.max(0, untilMs - timers.monotonicMs())
  const says = [{ code: 'other-source-late' }] as const
  const failure = { ok: false, reason: 'deadline', says, source: 'the other' } as const
  return timers.after(ms, () => finish(combineAnswers(latest, failure)))
}

function combineAnswers<T>(first: Answer<T>, second: Answer<T>): Answer<T> {
  if (first.ok) return attachAnswer(first, second)
  return second.ok ? attachAnswer(second, first) : combineFailures(first, second)
}

function attachAnswer<T>(main: AnswerSuccess<T>, more: Answer<T>): AnswerSuccess<T> {
  // Named fields, since this runs for every call and an object with a spread is slow.
  return {
    ok: true,
    value: main.value,
    source: main.source,
    asOf: main.asOf,
    holdsUntil: main.holdsUntil,
    notRenewed: main.notRenewed,
    otherAnswers:
      main.otherAnswers === undefined
        ? flattenAnswers(more)
        : [...main.otherAnswers, ...flattenAnswers(more)],
  }
}
