/**
 * Lookups of one number (spec, "Data enhancement lookups"). Unknown facts are reported as the spec says
 * and never guessed, not even from the carrier to which a prefix was first assigned.
 */
import type { Caller } from '../../domain/caller.js'
import type {
  LineIdentity,
  LineStatusAnswer,
  LookupSource,
  ResOrBusiness,
} from '../../domain/lookups.js'
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { NumberingPlan } from '../../domain/place.js'
import { describeSaid } from '../../domain/words/words.js'

export interface LookupsDeps {
  readonly lookupSourceFor: (accountId: string) => Omit<LookupSource, 'reassigned'>
  /** The numbering plan of the account. */
  readonly planOf: (accountId: string) => Pick<NumberingPlan, 'lookup'>
}

const unknownIdentity: LineIdentity = {
  phoneType: 'N',
  ocn: '',
  telcoName: '',
  on: undefined,
}

/** Area code and exchange of any number begin with 2 to 9. */
const possibleNumber = /^[2-9]\d{2}[2-9]\d{6}$/

const malformedAnswer: LineStatusAnswer = {
  status: 'invalid-format',
  errorText: 'the number is not exactly 10 digits',
}

const impossibleAnswer: LineStatusAnswer = {
  status: 'invalid-phone',
  errorText: 'an area code or exchange cannot begin with 0 or 1',
}

const noDataAnswer: LineStatusAnswer = {
  status: 'ERROR',
  errorText: 'no imported line-status data covers this number',
}

export class Lookups {
  readonly #deps: LookupsDeps

  constructor(deps: LookupsDeps) {
    this.#deps = deps
  }

  async findIdentity(
    { accountId }: Caller,
    { phone }: { readonly phone: PhoneNumber },
  ): Promise<LineIdentity & { readonly phone: PhoneNumber }> {
    const found = await this.#deps.lookupSourceFor(accountId).identity(phone)
    return { ...(found ?? unknownIdentity), phone }
  }

  /** The owner of a number is never known, but its line type may be. */
  async verify(
    caller: Caller,
    { phone, reference }: { readonly phone: PhoneNumber; readonly reference: string },
  ): Promise<
    Pick<LineIdentity, 'phoneType'> & { readonly phone: string; readonly reference: string }
  > {
    const { phoneType } = await this.findIdentity(caller, { phone })
    return { phone, reference, phoneType }
  }

  /** An invalid number is reported as a status, not as an error. */
  async findLineStatus(
    { accountId }: Caller,
    { phone }: { readonly phone: string },
  ): Promise<LineStatusAnswer & { readonly phone: string }> {
    return { ...(await this.#findStatus(accountId, phone)), phone }
  }

  async findResOrBusiness(
    { accountId }: Caller,
    { phone }: { readonly phone: PhoneNumber },
  ): Promise<{ readonly phone: PhoneNumber; readonly resOrBusiness: ResOrBusiness }> {
    const found = await this.#deps.lookupSourceFor(accountId).resOrBusiness(phone)
    return { phone, resOrBusiness: found ?? 'U' }
  }

  async #findStatus(accountId: string, phone: string): Promise<LineStatusAnswer> {
    const number = parsePhoneNumber(phone)
    if (!number) return malformedAnswer
    if (!possibleNumber.test(number)) return impossibleAnswer
    const found = await this.#deps.lookupSourceFor(accountId).lineStatus(number)
    if (found && found.status !== 'ERROR') return found
    const { status, errorText } = this.#findNotInService(accountId, number) ?? found ?? noDataAnswer
    return { status, errorText: errorText || 'no reason was given' }
  }

  /** Used only if no source has a fact, since a known line is in service whatever the numbering plan says. */
  #findNotInService(accountId: string, number: PhoneNumber): LineStatusAnswer | undefined {
    const facts = this.#deps.planOf(accountId).lookup(number)
    if (facts.status !== 'unknown-prefix') return undefined
    return { status: 'invalid-phone', errorText: describeSaid(facts.says) }
  }
}
