/**
 * Checks a number against the lists that apply to an account: national and state do-not-call lists and
 * known litigators, its own or those of another account that it has a right to. A list that is missing, damaged, too old or does not cover the area code clears no
 * number. The sandbox account has its own lists and never uses the imported ones.
 */
import type { ListAges } from '../../data/number-list/list-ages.js'
import {
  affectsList,
  findApplicableLists,
  formatImportCommand,
  type ListUser,
  litigatorListName,
  nationalListNames,
  portedListNames,
  toAccountListName,
  toStateListName,
} from '../../data/number-list/list-names.js'
import { mainAccountId } from '../../domain/caller.js'
import type { ListVersion, NumberSet } from '../../domain/number-set.js'
import {
  findListsEnd,
  type ListEvidence,
  type ListFinding,
  noListEvidence,
  noStateFinding,
  type StateFinding,
} from '../../domain/number-set.js'
import { areaCodeOf, type PhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import type { ProjectScope } from '../projects/project-scope.js'

/** The part of the list store that is needed here. */
export interface Lists {
  all(): readonly NumberSet[]
  /** Lists that calls need, although they are not here. */
  readonly needed: ReadonlySet<string>
  /** Lists that exist but whose file cannot be used; see {@link affectsList}. */
  problems(): readonly { readonly name?: string; readonly detail: string }[]
  /** `listener` is called after each change of lists or problems. */
  onChange(listener: () => void): () => void
}

export interface AccountLists {
  /** The national list of the number's country; the US list covers the territories too. */
  checkNational(number: PhoneNumber, country: Country, user: ListUser): ListFinding
  /**
   * The state lists of every region the number may be in. State lists are optional, but a loaded one
   * must be readable, recent enough and cover the area code. One of account main is needed by all accounts.
   */
  checkState(number: PhoneNumber, regions: readonly string[], user: ListUser): StateFinding
  /** The list of known litigators, which applies to all countries. */
  checkLitigator(number: PhoneNumber, user: ListUser): ListFinding
  /** The lists of ported numbers that the line class depends on, if any are loaded. */
  findPortedEvidence(): ListEvidence
}

export interface ListFactsDeps {
  readonly lists: Lists
  readonly ages: Pick<ListAges, 'findLimit' | 'computeStaleAt'>
  /** The machine's clock: the age of a list does not depend on the instant in question. */
  readonly clock: Clock
}

/** Findings prepared once per list, so that a lookup allocates nothing. */
export interface PreparedFindings {
  readonly listed: ListFinding
  readonly clear: ListFinding
}

interface LoadedList extends PreparedFindings {
  readonly set: NumberSet
  readonly staleAt: Instant
}

/** The imported lists, for every real account. */
export class ListFacts implements AccountLists {
  readonly #deps: ListFactsDeps
  readonly #stateNames = new Map<string, string>()
  /** By the name among the lists of all accounts. */
  #loaded: ReadonlyMap<string, LoadedList> = new Map()
  #problems: ReturnType<Lists['problems']> = []
  #ported: readonly LoadedList[] = []
  #portedVersions: readonly ListVersion[] = []
  /** Stops following changes of the lists. */
  readonly close: () => void

  constructor(deps: ListFactsDeps) {
    this.#deps = deps
    this.#load()
    this.close = deps.lists.onChange(() => this.#load())
  }

  checkNational(number: PhoneNumber, country: Country, user: ListUser): ListFinding {
    const list = nationalListNames[country]
    return this.#check(list, number, user) ?? createNotCoveredFinding(list, number, user)
  }

  checkState(number: PhoneNumber, regions: readonly string[], user: ListUser): StateFinding {
    let merged: StateFinding | undefined
    for (const region of regions) {
      const list = this.#stateNames.get(region) ?? toStateListName(region)
      this.#stateNames.set(region, list)
      const found = this.#check(list, number, user) ?? this.#requireRight(list, number, user)
      if (!found) continue
      const ofState = found.status === 'listed' ? { ...found, region } : found
      merged = merged ? mergeStateFindings(merged, ofState) : ofState
    }
    return merged ?? noStateFinding
  }

  /** A list that is too old still applies to the numbers on it, but clears no other number. */
  checkLitigator(number: PhoneNumber, user: ListUser): ListFinding {
    const list = litigatorListName
    const found = this.#check(list, number, user, 'still-lists')
    return found ?? createNotCoveredFinding(list, number, user)
  }

  findPortedEvidence(): ListEvidence {
    const now = this.#deps.clock.now()
    let holdsUntil: Instant | undefined
    for (const { staleAt } of this.#ported) {
      if (now < staleAt && staleAt < (holdsUntil ?? staleAt + 1)) holdsUntil = staleAt
    }
    return { lists: this.#portedVersions, holdsUntil }
  }

  #load(): void {
    const loaded = this.#deps.lists.all().map((set): [string, LoadedList] => {
      const { name, version, asOf } = set
      // Copied without the numbers, since cached evidence must not keep a replaced list in memory.
      const list = { name, version, asOf }
      const staleAt = this.#deps.ages.computeStaleAt(list)
      return [name, { set, staleAt, ...prepareFindings(list, staleAt) }]
    })
    this.#loaded = new Map(loaded)
    this.#problems = this.#deps.lists.problems()
    const { wireless, wireline } = portedListNames
    this.#ported = [wireless, wireline].flatMap((name) => this.#loaded.get(name) ?? [])
    this.#portedVersions = Object.freeze(this.#ported.flatMap(({ clear }) => clear.lists))
  }

  /**
   * Returns `undefined` if the account has no list of that name and no right to one. A list that is too old gives
   * `not-covered`; with `still-lists`, only for numbers that are not on it.
   */
  #check(
    list: string,
    number: PhoneNumber,
    user: ListUser,
    whenStale: 'silent' | 'still-lists' = 'silent',
  ): ListFinding | undefined {
    for (const name of findApplicableLists(list, user)) {
      const found = this.#checkIn(name, number, whenStale) ?? this.#findProblem(name)
      if (found) return found
    }
    return undefined
  }

  #checkIn(
    name: string,
    number: PhoneNumber,
    whenStale: 'silent' | 'still-lists',
  ): ListFinding | undefined {
    const loaded = this.#loaded.get(name)
    if (!loaded) return undefined
    const { set, staleAt, listed, clear } = loaded
    if (!set.covers(number)) return createUncoveredFinding(set, number, clear.lists)
    const isListed = set.has(number)
    const now = this.#deps.clock.now()
    if (now >= staleAt) {
      if (isListed && whenStale === 'still-lists') return { ...listed, holdsUntil: undefined }
      return this.#createStaleFinding(set, clear.lists, now)
    }
    if (!isListed) return clear
    const listedOn = set.dayOf?.(number)
    return listedOn === undefined ? listed : ({ ...listed, listedOn } as ListFinding)
  }

  /**
   * The operator has imported the list because its calls need it, so an account without a right to it is not covered; nor is one with a
   * right to a list that there is not.
   */
  #requireRight(list: string, number: PhoneNumber, user: ListUser): ListFinding | undefined {
    if (user.accountId === mainAccountId) return undefined
    const isNeeded =
      this.#loaded.has(list) ||
      this.#deps.lists.needed.has(list) ||
      user.listOwners.has(list) ||
      this.#findProblem(list) !== undefined
    return isNeeded ? createNotCoveredFinding(list, number, user) : undefined
  }

  #createStaleFinding(
    { name, asOf }: ListVersion,
    lists: readonly ListVersion[],
    now: Instant,
  ): ListFinding {
    const { days, by } = this.#deps.ages.findLimit(name) ?? { days: 0, by: [] }
    const ageDays = Math.floor((now - asOf - 1) / msPerDay)
    const params = {
      list: name,
      asOf: formatInstant(asOf),
      ageDays,
      maxDays: days,
      by,
      load: formatImportCommand(name),
    }
    const says = [{ code: 'list-too-old', params }] as const
    return { status: 'not-covered', says, isStale: true, lists }
  }

  #findProblem(name: string): ListFinding | undefined {
    for (const problem of this.#problems) {
      if (!affectsList(problem.name, name)) continue
      const params = { list: name }
      const says = [{ code: 'list-unreadable', params, quote: problem.detail }] as const
      return { status: 'not-covered', says, isUnusable: true, ...noListEvidence }
    }
    return undefined
  }
}

export function prepareFindings(list: ListVersion, staleAt?: Instant): PreparedFindings {
  const holdsUntil = Number.isFinite(staleAt) ? staleAt : undefined
  const lists = Object.freeze([list])
  return {
    listed: Object.freeze({ status: 'listed', asOf: list.asOf, lists, holdsUntil }),
    clear: Object.freeze({ status: 'clear', lists, holdsUntil }),
  }
}

/** These do not expire, since an import, and the end of a right, invalidate all earlier findings. */
function createNotCoveredFinding(
  list: string,
  number: PhoneNumber,
  { accountId }: ListUser,
): ListFinding {
  const load = formatImportCommand(toAccountListName(accountId, list))
  const said: Said =
    accountId === mainAccountId
      ? { code: 'list-not-covering', params: { list, areaCode: areaCodeOf(number), load } }
      : { code: 'no-right-to-list', params: { list, account: accountId, load } }
  return { status: 'not-covered', says: [said], ...noListEvidence }
}

function createUncoveredFinding(
  { name }: ListVersion,
  number: PhoneNumber,
  lists: readonly ListVersion[],
): ListFinding {
  const params = { list: name, areaCode: areaCodeOf(number), load: formatImportCommand(name) }
  const says = [{ code: 'list-not-covering', params }] as const
  return { status: 'not-covered', says, lists }
}

/** An unusable list ranks before a listing, since a record on file may override the listing. */
const statusRank: Readonly<Record<ListFinding['status'], number>> = {
  'not-covered': 2,
  listed: 1,
  clear: 0,
}

function mergeStateFindings(a: StateFinding, b: StateFinding): StateFinding {
  const stricter = statusRank[b.status] > statusRank[a.status] ? b : a
  const end = findListsEnd([a, b])
  const holdsUntil = Number.isFinite(end) ? end : undefined
  return { ...stricter, lists: [...a.lists, ...b.lists], holdsUntil }
}

/**
 * The finding for a US number that the project's federal subscription does not cover; `undefined` if
 * it is covered or the registry has not decided yet.
 */
export function findSubscriptionGap(
  { accountId, projectCode, subscription }: ProjectScope,
  number: PhoneNumber,
  country: Country,
): ListFinding | undefined {
  if (!subscription || country !== 'US') return undefined
  const { status, areaCodes } = subscription
  const areaCode = areaCodeOf(number)
  if (areaCodes === 'all' || areaCodes.has(areaCode)) return undefined
  const project = projectCode
  const says: readonly Said[] = [
    status === 'validated'
      ? { code: 'subscription-without-area-code', params: { project, areaCode } }
      : { code: 'subscription-not-in-force', params: { project, status } },
    { code: 'record-subscription', params: { project, account: accountId } },
  ]
  return { status: 'not-covered', says, ...noListEvidence }
}
