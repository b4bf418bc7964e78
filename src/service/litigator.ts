/** The litigator check (spec, "Litigator check"): only the list of known TCPA litigators is asked. */
import type { ScopeChoice } from '../domain/caller.js'
import { asPhoneNumber, type PhoneNumber } from '../domain/phone-number.js'
import { AppError, invalidRequest } from '../errors.js'
import type { ListFacts } from './list-facts.js'
import type { ScopeResolver } from './projects/projects.js'
import { requireScope } from './projects/require-scope.js'

export interface LitigatorRow {
  readonly phone: PhoneNumber
  readonly isLitigator: boolean
}

export interface LitigatorRequest extends ScopeChoice {
  readonly numbers: readonly string[]
}

export class Litigators {
  readonly #lists: ListFacts
  readonly #projects: ScopeResolver

  constructor(lists: ListFacts, projects: ScopeResolver) {
    this.#lists = lists
    this.#projects = projects
  }

  /**
   * One row per number, in the order given, duplicates kept. Refuses the whole request when a value
   * is not ten digits, when the project or campaign is not the account's, and when no loaded list
   * speaks for a number: no list is not a clean list.
   */
  async check(accountId: string, request: LitigatorRequest): Promise<readonly LitigatorRow[]> {
    await requireScope(this.#projects, accountId, request)
    return request.numbers.map(asTenDigits).map((phone) => {
      const found = this.#lists.litigator(accountId, phone)
      if (found.status === 'not-covered') throw new AppError('not-available', found.detail)
      return { phone, isLitigator: found.status === 'listed' }
    })
  }
}

function asTenDigits(value: string, index: number): PhoneNumber {
  const number = asPhoneNumber(value)
  if (number) return number
  const rule = 'must be exactly 10 digits'
  throw invalidRequest([{ field: `PhoneList[${index}]`, value, rule }])
}
