/** Whether a number has changed hands since a day of consent, by what is known of its disconnects. */
import type { LocalDay } from '../../domain/clock.js'
import type { Reassigned } from '../../domain/lookups.js'
import type { ReassignedFact } from '../feeds/reassigned.js'

/**
 * A disconnected number rests at least this many days before somebody else can have it (47 CFR
 * 52.15(f)(1)(ii), toll-free numbers 52.103(d)).
 */
export const agingDays = 45

export interface ReassignedQuestion {
  readonly facts: readonly ReassignedFact[]
  readonly consentOn: LocalDay
  readonly today: LocalDay
}

export interface ReassignedVerdict {
  readonly reassigned: Reassigned
  /** A `no` that was asked for says so; a safe harbour rests on nothing less (47 CFR 64.1200(m)). */
  readonly denied: boolean
}

/**
 * The logic of the national database, for facts that were collected before:
 *
 * - `true` when a permanent disconnect on or after the consent is known: a day in a list of
 *   disconnects, or a `yes` for a day that is not before the consent. It never ceases to be so.
 * - `false` when there has been none since the consent: the latest disconnect in a list came before
 *   it, or a `no` was given for a day that is not after it. A `yes` for an earlier day than the
 *   consent leaves open when the disconnect was, so it, like any `no` or list that it outdates,
 *   counts for nothing here. And since a fact says nothing of the time after the day it was true,
 *   `false` is said only for {@link agingDays} from then: what was disconnected meanwhile has no new
 *   holder before.
 * - `null`, too little information, in all other cases.
 */
export function reassignedSince(question: ReassignedQuestion): ReassignedVerdict {
  const { facts, consentOn, today } = question
  const told = (what: ReassignedFact['said']) => facts.filter(({ said }) => said === what)
  const [listed, yes] = [told('disconnected'), told('yes')] as const
  const lastListed = Math.max(...listed.map(({ day }) => day))
  const lastYes = Math.max(...yes.map(({ day }) => day))
  if (consentOn <= Math.max(lastListed, lastYes)) return { reassigned: true, denied: false }
  const outdates = Math.max(lastListed, ...yes.map(({ asOn }) => asOn))
  const holds = ({ asOn }: ReassignedFact) => asOn >= outdates && today <= asOn + agingDays
  const denied = told('no').some(
    (fact) => fact.day > lastYes && fact.day <= consentOn && holds(fact),
  )
  const none =
    lastListed >= lastYes && listed.some((fact) => fact.day === lastListed && holds(fact))
  return { reassigned: denied || none ? false : null, denied }
}
