/** Determines whether a number was reassigned since a day of consent, from its known disconnects. */
import type { ReassignedFlag } from '../../domain/lookups.js'
import type { LocalDay } from '../../domain/time/clock.js'
import type { ReassignedFact } from '../feeds/facts/reassigned.js'

/**
 * A disconnected number is not reassigned for at least this many days (47 CFR 52.15(f)(1)(ii),
 * toll-free numbers 52.103(d)).
 */
export const agingDays = 45

export interface ReassignedQuestion {
  readonly facts: readonly ReassignedFact[]
  readonly consentOn: LocalDay
  readonly today: LocalDay
}

export interface ReassignedVerdict {
  readonly reassigned: ReassignedFlag
  /** Whether an explicit `no` says so, which a safe harbor requires (47 CFR 64.1200(m)). */
  readonly denied: boolean
}

/**
 * The logic of the national database, for facts that were collected earlier:
 *
 * - `true` when a permanent disconnect on or after the consent is known: a day in a list of
 *   disconnects, or a `yes` for a day that is not before the consent. This never changes back.
 * - `false` when there has been none since the consent: the latest disconnect in a list came before
 *   it, or a `no` was given for a day that is not after it. A `yes` for an earlier day than the
 *   consent leaves open when the disconnect was, so it is ignored here, like any `no` or list that is
 *   older than it. And since a fact says nothing about the time after the day it was true, `false` is
 *   valid only for {@link agingDays} from then: a number disconnected meanwhile has no new holder yet.
 * - `null`, too little information, in all other cases.
 */
export function evaluateReassignment(question: ReassignedQuestion): ReassignedVerdict {
  const { facts, consentOn, today } = question
  const factsOf = (what: ReassignedFact['said']) => facts.filter(({ said }) => said === what)
  const [listed, yes] = [factsOf('disconnected'), factsOf('yes')] as const
  const lastListed = Math.max(...listed.map(({ day }) => day))
  const lastYes = Math.max(...yes.map(({ day }) => day))
  if (consentOn <= Math.max(lastListed, lastYes)) return { reassigned: true, denied: false }
  const outdates = Math.max(lastListed, ...yes.map(({ asOn }) => asOn))
  const holds = ({ asOn }: ReassignedFact) => asOn >= outdates && today <= asOn + agingDays
  const denied = factsOf('no').some(
    (fact) => fact.day > lastYes && fact.day <= consentOn && holds(fact),
  )
  const none =
    lastListed >= lastYes && listed.some((fact) => fact.day === lastListed && holds(fact))
  return { reassigned: denied || none ? false : null, denied }
}
