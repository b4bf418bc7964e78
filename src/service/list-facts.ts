/**
 * What the imported lists say of a number for one account: national and state do-not-call lists and
 * known litigators. The sandbox account has lists of its own and never sees the imported ones; a
 * list that is missing, damaged, too old or silent about an area code is told apart from a clean
 * answer.
 */
import {
  litigatorListName,
  nationalListNames,
  portedListNames,
  stateListName,
} from '../data/number-list/list-names.js'
import { areaCodeOf, isFictional, type PhoneNumber } from '../domain/phone-number.js'
import type { Country } from '../domain/place.js'
import {
  type Evidence,
  ImportedLists,
  type ImportedListsParts,
  type ListFinding,
  lastingFor,
  notCovered,
  type PlainFindings,
  plainFindings,
} from './imported-lists.js'
import type { ProjectScope } from './projects/project-scope.js'
import type { Sandbox } from './sandbox/sandbox.js'

export type { ListFinding, Lists } from './imported-lists.js'

export type StateFinding = ListFinding & { readonly region?: string }

export interface ListFactsParts extends ImportedListsParts {
  readonly sandbox: Sandbox
}

export class ListFacts {
  readonly #imported: ImportedLists
  readonly #sandbox: Sandbox
  readonly #ofSandbox = new Map<string, PlainFindings>()
  readonly #stateNames = new Map<string, string>()
  #ported: { readonly of: readonly [Evidence, Evidence]; readonly joined: Evidence } | undefined

  constructor({ sandbox, ...imported }: ListFactsParts) {
    this.#imported = new ImportedLists(imported)
    this.#sandbox = sandbox
  }

  /** The national list of the number's country; the US list speaks for the territories too. */
  national(accountId: string, number: PhoneNumber, country: Country): ListFinding {
    const name = nationalListNames[country]
    if (this.#sandbox.isSandbox(accountId)) return this.#sandboxNational(accountId, number, name)
    return this.#imported.ask(name, number) ?? notCovered(name, number)
  }

  /** The national list as far as the project's federal subscription lets it be asked. */
  nationalIn(scope: ProjectScope, number: PhoneNumber, country: Country): ListFinding {
    const beyond = beyondSubscription(scope, number, country)
    return beyond ?? this.national(scope.accountId, number, country)
  }

  /**
   * The state lists of every region the number may be in. No state list need be kept; each that is
   * kept must be readable, young enough and speak for the area code.
   */
  state(accountId: string, number: PhoneNumber, regions: readonly string[]): StateFinding {
    if (this.#sandbox.isSandbox(accountId)) return noStateList
    let found: StateFinding | undefined
    for (const region of regions) {
      const one = this.#stateOf(number, region)
      if (one) found = found ? both(found, one) : one
    }
    return found ?? noStateList
  }

  /**
   * The list of known litigators, which has no country. Who was on it is not cleared by its age:
   * a list that is too old is silent about everybody else.
   */
  litigator(accountId: string, number: PhoneNumber): ListFinding {
    const name = litigatorListName
    if (this.#sandbox.isSandbox(accountId)) {
      const isListed = this.#sandbox.line(accountId, number)?.litigator === true
      return this.#sandboxFinding(name, isListed)
    }
    return this.#imported.ask(name, number, 'still-lists') ?? notCovered(name, number)
  }

  /** The lists of ported numbers that the class of a line rests on, where any are kept. */
  ported(accountId: string): Evidence {
    if (this.#sandbox.isSandbox(accountId)) return noList
    const toWireless = this.#imported.evidenceOf(portedListNames.wireless)
    const toWireline = this.#imported.evidenceOf(portedListNames.wireline)
    if (!toWireless || !toWireline) return toWireless ?? toWireline ?? noList
    const known = this.#ported
    if (known?.of[0] === toWireless && known.of[1] === toWireline) return known.joined
    const joined = {
      lists: [...toWireless.lists, ...toWireline.lists],
      holdsUntil: Math.min(toWireless.holdsUntil, toWireline.holdsUntil),
    }
    this.#ported = { of: [toWireless, toWireline], joined }
    return joined
  }

  #sandboxNational(accountId: string, number: PhoneNumber, name: string): ListFinding {
    const line = this.#sandbox.line(accountId, number)
    if (line) return this.#sandboxFinding(name, line.nationalList)
    const what = isFictional(number) ? 'fictional line' : 'real number'
    const detail = `the sandbox account has no list for this ${what}`
    return { status: 'not-covered', detail, ...noList }
  }

  #sandboxFinding(name: string, isListed: boolean): ListFinding {
    const known = this.#ofSandbox.get(name)
    const { listed, clear } = known ?? sandboxFindings(name, this.#sandbox)
    if (!known) this.#ofSandbox.set(name, { listed, clear })
    return isListed ? listed : clear
  }

  #stateOf(number: PhoneNumber, region: string): StateFinding | undefined {
    const found = this.#imported.ask(this.#stateName(region), number)
    return found?.status === 'listed' ? { ...found, region } : found
  }

  #stateName(region: string): string {
    const known = this.#stateNames.get(region)
    if (known !== undefined) return known
    const name = stateListName(region)
    this.#stateNames.set(region, name)
    return name
  }
}

const noList = lastingFor([])
const noStateList: StateFinding = { status: 'clear', ...noList }

/** One that cannot be asked counts before a listing, which a record on file may lift. */
const rank: Readonly<Record<ListFinding['status'], number>> = {
  'not-covered': 2,
  listed: 1,
  clear: 0,
}

function both(one: StateFinding, other: StateFinding): StateFinding {
  const stricter = rank[other.status] > rank[one.status] ? other : one
  const holdsUntil = Math.min(one.holdsUntil, other.holdsUntil)
  return { ...stricter, lists: [...one.lists, ...other.lists], holdsUntil }
}

/** The fixed facts of the sandbox, which have no age. */
function sandboxFindings(name: string, { listsAsOf }: Sandbox): PlainFindings {
  const list = { name, version: 'sandbox', asOf: listsAsOf }
  return plainFindings(list, Number.POSITIVE_INFINITY)
}

/**
 * The finding for a US number that the project's federal subscription does not let it ask about;
 * `undefined` when it does, and as long as the registry has decided nothing.
 */
function beyondSubscription(
  { accountId, projectCode, subscription }: ProjectScope,
  number: PhoneNumber,
  country: Country,
): ListFinding | undefined {
  if (!subscription || country !== 'US') return undefined
  const { status, areaCodes } = subscription
  const areaCode = areaCodeOf(number)
  if (areaCodes === 'all' || areaCodes.has(areaCode)) return undefined
  const why = status === 'validated' ? `does not cover area code ${areaCode}` : `is ${status}`
  const detail =
    `the federal subscription of project '${projectCode}' ${why}; once the registry covers it, ` +
    `record that with: callgate projects ftc-validation ${projectCode} --account ${accountId}`
  return { status: 'not-covered', detail, ...noList }
}
