/** The litigator check (spec, "Litigator check"), which uses only the list of known TCPA litigators. */
import type { ScopeChoice } from '../../domain/caller.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import { describeSaid } from '../../domain/words/words.js'
import { AppError, invalidRequest } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { ViewOf } from '../account-view.js'
import { requireScope, type ScopeResolver } from '../projects/project-scope.js'

export interface LitigatorMatch {
  readonly phone: PhoneNumber
  readonly isLitigator: boolean
}

export interface LitigatorQuery extends ScopeChoice {
  readonly numbers: readonly string[]
}

export class LitigatorCheck {
  readonly #viewOf: ViewOf<'lists'>
  readonly #projects: ScopeResolver

  constructor(viewOf: ViewOf<'lists'>, projects: ScopeResolver) {
    this.#viewOf = viewOf
    this.#projects = projects
  }

  /**
   * One row per number, in request order, duplicates kept. Throws `invalid-request` for a value that is
   * not ten digits and for a project or campaign of another account, and `not-available` if no loaded
   * list covers one of the numbers, since a missing list clears no number.
   */
  async check(accountId: string, request: LitigatorQuery): Promise<readonly LitigatorMatch[]> {
    const scope = await requireScope(this.#projects, accountId, request)
    const { lists } = this.#viewOf(accountId)
    const phones = request.numbers.map(parseTenDigits)
    return await mapInSlices(phones, (phone) => {
      const found = lists.checkLitigator(phone, scope)
      if (found.status === 'not-covered')
        throw new AppError('not-available', describeSaid(found.says))
      return { phone, isLitigator: found.status === 'listed' }
    })
  }
}

function parseTenDigits(value: string, index: number): PhoneNumber {
  const number = parsePhoneNumber(value)
  if (number) return number
  const rule = 'must be exactly 10 digits'
  throw invalidRequest([{ field: `PhoneList[${index}]`, value, rule }])
}
