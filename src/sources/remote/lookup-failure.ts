/** Look-ups that could not be asked, as those who ask for facts see them. */
import type { Unanswered } from '../../domain/compliance.js'

/** The message names neither key nor number. */
export class LookupError extends Error {
  readonly why: Unanswered['why']

  /** An error of time has the name that aborted requests have, so that it is known as one. */
  constructor({ source, why, detail }: Unanswered) {
    super(`${source}: ${detail}`)
    this.name = why === 'deadline' ? 'TimeoutError' : 'LookupError'
    this.why = why
  }
}

/** As much of an answer as look-ups need. */
export type Told<Value> = { readonly answered: true; readonly value: Value } | Unanswered

/** Throws a {@link LookupError} where there is no answer. */
export function answerIn<Value>(told: Told<Value>): Value {
  if (told.answered) return told.value
  throw new LookupError(told)
}

/** The answers, `undefined` where there is none; throws when there is none at all. */
export function answersIn<Value>(all: readonly Told<Value>[]): readonly (Value | undefined)[] {
  const [first] = all
  if (first && !all.some(({ answered }) => answered)) answerIn(first)
  return all.map((told) => (told.answered ? told.value : undefined))
}
