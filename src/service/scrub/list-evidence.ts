/**
 * What of a scrub verdict rests on the imported lists: which versions of them, until when, and why
 * one of them could not be asked. What the lists say is found out in `list-facts.ts`.
 */
import type { Instant } from '../../domain/clock.js'
import type { ScrubVerdict } from '../../domain/compliance.js'
import type { ListVersion } from '../../domain/number-set.js'
import type { Evidence } from '../imported-lists.js'
import type { ListFinding, StateFinding } from '../list-facts.js'

export interface ListFindings {
  readonly national: ListFinding
  readonly state: StateFinding
  readonly litigator: ListFinding
  /** What the class of the line rests on beside the numbering plan. */
  readonly ported: Evidence
}

type Versions = readonly ListVersion[]

/** Names all lists that were looked at; one array for numbers judged by the same ones in a row. */
export class ListsLookedAt {
  #of: readonly Versions[] = []
  #all: Versions = []

  of({ national, state, litigator, ported }: ListFindings): Versions {
    const of = [national.lists, state.lists, litigator.lists, ported.lists]
    if (of.some((lists, index) => lists !== this.#of[index])) {
      this.#of = of
      this.#all = Object.freeze(of.flat())
    }
    return this.#all
  }
}

/** When the first of them becomes too old. */
export function listsHoldUntil({ national, state, litigator, ported }: ListFindings): Instant {
  const { holdsUntil } = national
  return Math.min(holdsUntil, state.holdsUntil, litigator.holdsUntil, ported.holdsUntil)
}

/**
 * Why a do-not-call list that the letter needs cannot be asked; `undefined` when all can. The
 * litigator list is not one of them: the gate asks it itself (spec, "Litigator check").
 */
export function lackOf({
  national,
  state,
}: ListFindings): Required<Pick<ScrubVerdict, 'detail' | 'isListStale'>> | undefined {
  const silent = [national, state].flatMap((one) => (one.status === 'not-covered' ? [one] : []))
  const [first] = silent
  return first && { detail: first.detail, isListStale: first.isStale === true }
}
