/**
 * What the imported lists say of a number for one account: national and state do-not-call lists and
 * known litigators. The sandbox account has lists of its own and never sees the imported ones; a
 * list that is missing, damaged or silent about an area code is told apart from a clean answer.
 */
import {
  litigatorListName,
  nationalListNames,
  stateListName,
} from '../data/number-list/list-names.js'
import type { Instant } from '../domain/clock.js'
import type { NumberSet } from '../domain/number-set.js'
import { areaCodeOf, isFictional, type PhoneNumber } from '../domain/phone-number.js'
import type { Country } from '../domain/place.js'
import type { ProjectScope } from './projects/project-scope.js'
import type { Sandbox } from './sandbox/sandbox.js'

/** The imported lists as this file needs them. */
export interface Lists {
  get(name: string): NumberSet | undefined
  /** Lists whose file cannot be used; such a list is not the same as one that is not kept. */
  problems(): readonly { readonly name?: string; readonly detail: string }[]
}

/** What one list, or several together, say of a number. */
export type ListFinding =
  | { readonly status: 'listed'; readonly asOf: Instant }
  | { readonly status: 'clear'; readonly asOf: Instant | undefined }
  /** No list that speaks for the number can be asked; `detail` tells the operator what to do. */
  | {
      readonly status: 'not-covered'
      readonly detail: string
      /** The list is kept and its file cannot be used. */
      readonly isUnusable?: boolean
    }

export type StateFinding = ListFinding & { readonly region?: string }

export class ListFacts {
  readonly #lists: Lists
  readonly #sandbox: Sandbox
  readonly #stateNames = new Map<string, string>()

  constructor(lists: Lists, sandbox: Sandbox) {
    this.#lists = lists
    this.#sandbox = sandbox
  }

  /** The national list of the number's country; the US list speaks for the territories too. */
  national(accountId: string, number: PhoneNumber, country: Country): ListFinding {
    if (this.#sandbox.isSandbox(accountId)) return this.#sandboxNational(accountId, number)
    const name = nationalListNames[country]
    return (
      finding(this.#lists.get(name), number) ?? {
        status: 'not-covered',
        detail: toDo(name, number),
      }
    )
  }

  /** The national list as far as the project's federal subscription lets it be asked. */
  nationalIn(scope: ProjectScope, number: PhoneNumber, country: Country): ListFinding {
    const beyond = beyondSubscription(scope, number, country)
    return beyond ?? this.national(scope.accountId, number, country)
  }

  /**
   * The state lists of every region the number may be in. No state list need be kept; one that is
   * kept must be readable and speak for the area code.
   */
  state(accountId: string, number: PhoneNumber, regions: readonly string[]): StateFinding {
    if (this.#sandbox.isSandbox(accountId)) return clear
    let worst: StateFinding = clear
    for (const region of regions) {
      const found = this.#stateOf(number, region)
      if (found.status === 'listed') return { ...found, region }
      if (found.status === 'not-covered') worst = found
    }
    return worst
  }

  /** The list of known litigators, which has no country. */
  litigator(accountId: string, number: PhoneNumber): ListFinding {
    if (this.#sandbox.isSandbox(accountId)) {
      const asOf = this.#sandbox.listsAsOf
      const listed = this.#sandbox.line(accountId, number)?.litigator === true
      return { status: listed ? 'listed' : 'clear', asOf }
    }
    const list = this.#lists.get(litigatorListName)
    const problem = list ? undefined : this.#problemOf(litigatorListName)
    if (problem) return problem
    return (
      finding(list, number) ?? { status: 'not-covered', detail: toDo(litigatorListName, number) }
    )
  }

  #sandboxNational(accountId: string, number: PhoneNumber): ListFinding {
    const line = this.#sandbox.line(accountId, number)
    if (!line) {
      const what = isFictional(number) ? 'fictional line' : 'real number'
      return { status: 'not-covered', detail: `the sandbox account has no list for this ${what}` }
    }
    return { status: line.nationalList ? 'listed' : 'clear', asOf: this.#sandbox.listsAsOf }
  }

  #stateOf(number: PhoneNumber, region: string): ListFinding {
    const name = this.#stateName(region)
    const list = this.#lists.get(name)
    if (list) return finding(list, number) ?? { status: 'not-covered', detail: toDo(name, number) }
    return this.#problemOf(name) ?? clear
  }

  #problemOf(name: string): ListFinding | undefined {
    const problem = this.#lists
      .problems()
      .find((one) => one.name === undefined || one.name === name)
    if (!problem) return undefined
    return { status: 'not-covered', detail: `${name}: ${problem.detail}`, isUnusable: true }
  }

  #stateName(region: string): string {
    const known = this.#stateNames.get(region)
    if (known !== undefined) return known
    const name = stateListName(region)
    this.#stateNames.set(region, name)
    return name
  }
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
  return { status: 'not-covered', detail }
}

const clear: ListFinding = { status: 'clear', asOf: undefined }

function finding(list: NumberSet | undefined, number: PhoneNumber): ListFinding | undefined {
  if (!list?.covers(number)) return undefined
  return { status: list.has(number) ? 'listed' : 'clear', asOf: list.asOf }
}

function toDo(name: string, number: PhoneNumber): string {
  return (
    `no list '${name}' speaks for area code ${areaCodeOf(number)}; ` +
    `load one with: callgate import list ${name} <file>`
  )
}
