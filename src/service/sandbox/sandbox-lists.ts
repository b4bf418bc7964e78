import { litigatorListName, nationalListNames } from '../../data/number-list/list-names.js'
import {
  type ListEvidence,
  type ListFinding,
  noListEvidence,
  noStateFinding,
  type StateFinding,
} from '../../domain/number-set.js'
import { isFictional, type PhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import { type AccountLists, type PreparedFindings, prepareFindings } from '../lists/list-facts.js'
import type { Sandbox } from './sandbox.js'

/** The sandbox's own lists, built from its fixed facts, which never expire. Imported lists are not used. */
export class SandboxLists implements AccountLists {
  readonly #sandbox: Sandbox
  readonly #findings = new Map<string, PreparedFindings>()

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox
  }

  checkNational(number: PhoneNumber, country: Country): ListFinding {
    const line = this.#sandbox.line(number)
    if (line) return this.#find(nationalListNames[country], line.nationalList)
    const code = isFictional(number) ? 'no-sandbox-list' : 'sandbox-without-real-numbers'
    return { status: 'not-covered', says: [{ code }], ...noListEvidence }
  }

  checkState(): StateFinding {
    return noStateFinding
  }

  checkLitigator(number: PhoneNumber): ListFinding {
    return this.#find(litigatorListName, this.#sandbox.line(number)?.litigator === true)
  }

  findPortedEvidence(): ListEvidence {
    return noListEvidence
  }

  #find(name: string, isListed: boolean): ListFinding {
    const list = { name, version: 'sandbox', asOf: this.#sandbox.listsAsOf }
    const found = this.#findings.get(name) ?? prepareFindings(list)
    this.#findings.set(name, found)
    return isListed ? found.listed : found.clear
  }
}
