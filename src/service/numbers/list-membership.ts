/** Which of the lists that apply to an account's calls have a number, and which cannot say. */
import {
  type ListUser,
  litigatorListName,
  nationalListNames,
  toStateListName,
} from '../../data/number-list/list-names.js'
import type { ListFinding } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { NumberFacts } from '../../domain/place.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import { describeSaid } from '../../domain/words/words.js'
import type { AccountLists } from '../lists/list-facts.js'

export interface ListMembership {
  /** Among the lists of all accounts. */
  readonly name: string
  readonly result: 'listed' | 'clear' | 'not-known' | 'no-list'
  /** Of the list that was asked; null if none could be. */
  readonly version: string | null
  readonly asOf: string | null
  /** `YYYY-MM-DD`; null if the source gives none. */
  readonly listedOn: string | null
  readonly because: string | null
}

/** One row for each list; of a number without a place, national lists cannot be chosen. */
export function readMemberships(
  lists: AccountLists,
  number: PhoneNumber,
  { facts, user }: { readonly facts: NumberFacts; readonly user: ListUser },
): readonly ListMembership[] {
  const litigators = toMembership(litigatorListName, lists.checkLitigator(number, user))
  if (facts.status !== 'ok') {
    const because = `it is not known which country's list applies: ${describeNoPlace(facts)}`
    const notAsked = Object.values(nationalListNames).map((name) => notKnown(name, because))
    return [...notAsked, litigators]
  }
  const { country, candidates } = facts.place
  const regions = [...new Set(candidates.map(({ region }) => region))]
  return [
    toMembership(nationalListNames[country], lists.checkNational(number, country, user)),
    ...regions.map((region) =>
      toMembership(toStateListName(region), lists.checkState(number, [region], user)),
    ),
    litigators,
  ]
}

export function describeNoPlace(facts: Exclude<NumberFacts, { readonly status: 'ok' }>): string {
  return facts.status === 'toll-free' ? 'it is a toll-free number' : describeSaid(facts.says)
}

function toMembership(name: string, found: ListFinding): ListMembership {
  const [list] = found.lists
  const about = {
    name: list?.name ?? name,
    version: list?.version ?? null,
    asOf: list ? formatInstant(list.asOf) : null,
    listedOn: null,
    because: null,
  }
  switch (found.status) {
    case 'listed': {
      const listedOn = found.listedOn === undefined ? null : formatDay(found.listedOn)
      return { ...about, result: 'listed', listedOn }
    }
    case 'clear':
      return { ...about, result: list ? 'clear' : 'no-list' }
    case 'not-covered':
      return { ...about, result: 'not-known', because: describeSaid(found.says) }
  }
}

function notKnown(name: string, because: string): ListMembership {
  return { name, result: 'not-known', version: null, asOf: null, listedOn: null, because }
}
