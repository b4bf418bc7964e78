/** What the numbering plan, postal codes and lists say about a number, for a scrub row or a decision. */
import type { ListEvidence } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type {
  CandidatePlace,
  NumberFacts,
  NumberOfPlan,
  Place,
  PostalCodes,
} from '../../domain/place.js'
import type { ListFindings } from '../../judge/facts.js'
import type { AccountView } from '../account-view.js'
import { findSubscriptionGap } from '../lists/list-facts.js'
import type { ProjectScope } from '../projects/project-scope.js'

interface LocatedFacts {
  readonly number: NumberFacts
  /** Of the postal code, if its place is known. */
  readonly postal?: Place | undefined
  readonly ported: ListEvidence
}

export function locateNumber(
  number: PhoneNumber,
  postalCode: string | undefined,
  {
    lists,
    numberingPlan,
    postalCodes,
  }: Pick<AccountView, 'lists' | 'numberingPlan'> & { readonly postalCodes: PostalCodes },
): LocatedFacts {
  // Read before the line class, so that a list that expires in between also expires the answer.
  const ported = lists.findPortedEvidence()
  const facts = numberingPlan.lookup(number)
  const postal = postalCode?.trim() ? postalCodes.locate(postalCode) : undefined
  return { number: facts, postal, ported }
}

/** `undefined` for a number that is not in service. */
export function checkLists(
  number: PhoneNumber,
  { number: facts, postal }: { readonly number: NumberOfPlan; readonly postal?: Place | undefined },
  { scope, lists }: { readonly scope: ProjectScope } & Pick<AccountView, 'lists'>,
): ListFindings | undefined {
  if (facts.status !== 'ok') return undefined
  const { country, candidates } = facts.place
  return {
    national:
      findSubscriptionGap(scope, number, country) ?? lists.checkNational(number, country, scope),
    state: lists.checkState(number, listRegions(candidates, postal), scope),
    litigator: lists.checkLitigator(number, scope),
  }
}

/** Of both, since lists apply wherever the person may be. */
function listRegions(
  places: readonly CandidatePlace[],
  postal: Place | undefined,
): readonly string[] {
  const regions = [...(postal?.candidates ?? []), ...places].map(({ region }) => region)
  return [...new Set(regions)]
}
