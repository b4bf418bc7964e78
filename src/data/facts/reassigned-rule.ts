/** Determines whether a number was reassigned since the day of a consent, from its known disconnects. */
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
  /** Whether an explicit `no` is the basis, which a safe harbor requires (47 CFR 64.1200(m)). */
  readonly denied: boolean
  /** The day of the file that says so; absent with `null`. */
  readonly asOn?: LocalDay | undefined
}

/**
 * Applies the logic of the national database to facts that were collected earlier:
 *
 * - `true` if a permanent disconnect on or after the consent is known: a day in a list of disconnects,
 *   or a `yes` for a day not before the consent. This is final.
 * - `false` if there has been none since the consent: the latest listed disconnect is before it, or a
 *   `no` was given for a day not after it. A `yes` for a day before the consent does not say when the
 *   disconnect was, so it is ignored, as is a `no` or list that is older than the consent. Facts do not
 *   cover the time after their date, so `false` is valid only for {@link agingDays} from that date: a
 *   number disconnected since then cannot have a new holder yet.
 * - `null`, too little information, in all other cases.
 */
export function evaluateReassignment(question: ReassignedQuestion): ReassignedVerdict {
  const { facts, consentOn, today } = question
  const factsOf = (what: ReassignedFact['said']) => facts.filter(({ said }) => said === what)
  const [listed, yes] = [factsOf('disconnected'), factsOf('yes')] as const
  const lastListed = Math.max(...listed.map(({ day }) => day))
  const lastYes = Math.max(...yes.map(({ day }) => day))
  if (consentOn <= Math.max(lastListed, lastYes)) {
    const asOn = findNewest([...listed, ...yes].filter(({ day }) => consentOn <= day))
    return { reassigned: true, denied: false, asOn }
  }
  const outdates = Math.max(lastListed, ...yes.map(({ asOn }) => asOn))
  const holds = ({ asOn }: ReassignedFact) => asOn >= outdates && today <= asOn + agingDays
  const denials = factsOf('no').filter(
    (fact) => fact.day > lastYes && fact.day <= consentOn && holds(fact),
  )
  const clear =
    lastListed >= lastYes ? listed.filter((fact) => fact.day === lastListed && holds(fact)) : []
  const denied = denials.length > 0
  const asOn = findNewest(denied ? denials : clear)
  return { reassigned: asOn === undefined ? null : false, denied, asOn }
}

function findNewest(facts: readonly ReassignedFact[]): LocalDay | undefined {
  return facts.length === 0 ? undefined : Math.max(...facts.map(({ asOn }) => asOn))
}
