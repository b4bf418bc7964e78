/**
 * What an answer says together with those beside it (`also`): whether it permits the call, whether
 * anybody is missing, and until when all of it holds.
 */
import type { Instant } from '../domain/clock.js'
import {
  type Answered,
  type Asked,
  isOfTheQuestion,
  type Unanswered,
} from '../domain/compliance.js'

export type Permits<T> = (value: T) => boolean

/** Each that answered, alone. */
export function answeredParts<T>(asked: Asked<T>): readonly Answered<T>[] {
  if (!asked.answered) return []
  if (asked.also === undefined && asked.insteadOf === undefined) return [asked]
  const { also, insteadOf, ...alone } = asked
  return [alone, ...(also ?? []).flatMap(answeredParts)]
}

/**
 * One that did not answer, be it the answer itself or one beside it: before others one that would
 * answer if it were asked otherwise.
 */
export function silentOne<T>(asked: Asked<T>): Unanswered | undefined {
  const silent = firstSilent(asked)
  if (!silent || isOfTheQuestion(silent.why) || !asked.answered) return silent
  const others = (asked.also ?? []).flatMap((more) => silentOne(more) ?? [])
  return others.find(({ why }) => isOfTheQuestion(why)) ?? silent
}

function firstSilent<T>(asked: Asked<T>): Unanswered | undefined {
  if (!asked.answered) return asked
  if (asked.also === undefined) return undefined
  for (const more of asked.also) {
    const silent = firstSilent(more)
    if (silent) return silent
  }
  return undefined
}

/** Whether somebody who answered does not permit the call. */
export function isForbidden<T>(asked: Asked<T>, permits: Permits<T>): boolean {
  if (!asked.answered) return false
  if (!permits(asked.value)) return true
  return asked.also?.some((more) => isForbidden(more, permits)) ?? false
}

/** The smallest `holdsUntil` of all that answered. */
export function wholeHoldsUntil<T>({ holdsUntil, also = [] }: Answered<T>): Instant {
  const others = also.map((more) => (more.answered ? wholeHoldsUntil(more) : holdsUntil))
  return Math.min(holdsUntil, ...others)
}

/** The answer and those beside it, marked as given because their source is silent. */
export function markedStale<T>(answer: Answered<T>, staleBecause: string): Answered<T> {
  const { value, source, asOf, holdsUntil, also } = answer
  const stale = { answered: true, value, source, asOf, holdsUntil, staleBecause } as const
  if (also === undefined) return stale
  const marked = also.map((more) => (more.answered ? markedStale(more, staleBecause) : more))
  return { ...stale, also: marked }
}
