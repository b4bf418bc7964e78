/**
 * Joins what two sources say to one question, so that a call is permitted only if both permit it.
 * Which values permit a call is told by the caller; what becomes of the call is left to the checks.
 */
import type { Timers } from '../domain/clock.js'
import type {
  Answered,
  Asked,
  Eventually,
  Unanswered,
  UnansweredReason,
} from '../domain/compliance.js'

/** When an answer is given before the other source has been heard. */
export interface EarlyNo<T> {
  /** A no that nothing lifts: the other is not waited for, whatever it could say. */
  readonly isFinal: (value: T, of: 'first' | 'second') => boolean
  /**
   * A no that something else may lift, such as a permission record: the other is waited for, but
   * not so long that a known no becomes an unknown. It then counts as silent.
   */
  readonly patience?: {
    readonly isNo: (value: T) => boolean
    /** On the timers' clock. */
    readonly untilMs: number
    readonly timers: Timers
  }
}

/**
 * The first's answer, with the second's as `also`; a second that is `undefined` has nothing to say.
 * An unanswered one goes along with the answered one; both unanswered are one that names both. At
 * once when both are there at once.
 */
export function eachMustPermit<T>(
  first: Eventually<Asked<T>>,
  second: Eventually<Asked<T> | undefined>,
  early: EarlyNo<T>,
): Eventually<Asked<T>> {
  if (!(first instanceof Promise) && !(second instanceof Promise)) return together(first, second)
  return new Promise((resolve, reject) => {
    const heard: { first?: Asked<T>; second?: { readonly asked: Asked<T> | undefined } } = {}
    let callOff: (() => void) | undefined
    const give = (asked: Asked<T>) => {
      callOff?.()
      resolve(asked)
    }
    const settle = (latest: Asked<T> | undefined, of: 'first' | 'second') => {
      if (heard.first && heard.second) give(together(heard.first, heard.second.asked))
      else if (latest && isSaid(latest, (value) => early.isFinal(value, of))) give(latest)
      else if (latest) callOff = waitABit(latest, early, give)
    }
    const failed = (cause: unknown) => {
      callOff?.()
      reject(cause)
    }
    Promise.resolve(first).then((asked) => {
      heard.first = asked
      settle(asked, 'first')
    }, failed)
    Promise.resolve(second).then((asked) => {
      heard.second = { asked }
      settle(asked, 'second')
    }, failed)
  })
}

function waitABit<T>(
  latest: Asked<T>,
  { patience }: EarlyNo<T>,
  give: (asked: Asked<T>) => void,
): (() => void) | undefined {
  if (!patience || !isSaid(latest, patience.isNo)) return undefined
  const { untilMs, timers } = patience
  const ms = Math.max(0, untilMs - timers.monotonicMs())
  const detail = 'not heard in time beside the no of the other'
  const silence = { answered: false, why: 'deadline', detail, source: 'the other' } as const
  return timers.after(ms, () => give(together(latest, silence)))
}

/** Whether somebody who answered says so. */
export function isSaid<T>(asked: Asked<T>, says: (value: T) => boolean): boolean {
  if (!asked.answered) return false
  return says(asked.value) || (asked.also?.some((more) => isSaid(more, says)) ?? false)
}

function together<T>(first: Asked<T>, second: Asked<T> | undefined): Asked<T> {
  if (second === undefined) return first
  if (first.answered) return withAlso(first, second)
  return second.answered ? withAlso(second, first) : neither(first, second)
}

function withAlso<T>(main: Answered<T>, more: Asked<T>): Answered<T> {
  // Named fields: this is made for every call, and an object that begins with a spread is slow.
  return {
    answered: true,
    value: main.value,
    source: main.source,
    asOf: main.asOf,
    holdsUntil: main.holdsUntil,
    staleBecause: main.staleBecause,
    also: main.also === undefined ? flat(more) : [...main.also, ...flat(more)],
  }
}

/** Each with its own source and ages, none inside another. */
function flat<T>(asked: Asked<T>): readonly Asked<T>[] {
  return asked.answered && asked.also !== undefined ? [asked, ...asked.also] : [asked]
}

/**
 * What is told when two sources were asked and neither answered. That an API lacks the question
 * says less than why the other one, which has it, does not answer.
 */
export function neither(first: Unanswered, second: Unanswered): Unanswered {
  return {
    answered: false,
    why: whyOfBoth(first.why, second.why),
    detail: `${first.source}: ${first.detail}; ${second.source}: ${second.detail}`,
    source: `${first.source}+${second.source}`,
  }
}

/** A question that one of them refuses as it is put is no outage of the other. */
function whyOfBoth(first: UnansweredReason, second: UnansweredReason): UnansweredReason {
  if (second === 'bad-question') return second
  return first === 'not-askable' ? second : first
}
