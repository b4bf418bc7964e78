/**
 * Look-ups of one number (spec, "Data enhancement lookups"). What no fact is known of is said in the
 * spec's own words and never guessed: not from the carrier a prefix was first assigned to either.
 */
import type { Caller } from '../../domain/caller.js'
import type {
  LineIdentity,
  LineStatusAnswer,
  LookupBook,
  ResOrBusiness,
} from '../../domain/lookups.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import type { NumberingPlan } from '../../domain/place.js'

export interface LookupsParts {
  readonly bookOf: (accountId: string) => Omit<LookupBook, 'reassigned'>
  /** The plan as the account sees it. */
  readonly planOf: (accountId: string) => Pick<NumberingPlan, 'lookup'>
}

const notIdentified: LineIdentity = {
  phoneType: 'N',
  ocn: '',
  telcoName: '',
  on: undefined,
}

/** Area code and exchange of any number begin with 2 to 9. */
const possible = /^[2-9]\d{2}[2-9]\d{6}$/

const malformed: LineStatusAnswer = {
  status: 'invalid-format',
  errorText: 'the number is not exactly 10 digits',
}

const impossible: LineStatusAnswer = {
  status: 'invalid-phone',
  errorText: 'no area code and no exchange begins with 0 or 1',
}

const noData: LineStatusAnswer = {
  status: 'ERROR',
  errorText: 'no line-status data is loaded that speaks for this number',
}

export class Lookups {
  readonly #parts: LookupsParts

  constructor(parts: LookupsParts) {
    this.#parts = parts
  }

  async identity(
    { accountId }: Caller,
    { phone }: { readonly phone: PhoneNumber },
  ): Promise<LineIdentity & { readonly phone: PhoneNumber }> {
    const found = await this.#parts.bookOf(accountId).identity(phone)
    return { ...(found ?? notIdentified), phone }
  }

  /** Whose a number is nobody here knows; its line may be known. */
  async verification(
    caller: Caller,
    { phone, reference }: { readonly phone: PhoneNumber; readonly reference: string },
  ): Promise<
    Pick<LineIdentity, 'phoneType'> & { readonly phone: string; readonly reference: string }
  > {
    const { phoneType } = await this.identity(caller, { phone })
    return { phone, reference, phoneType }
  }

  /** What is no number is told by the status, as the outcomes of single rows are everywhere. */
  async lineStatus(
    { accountId }: Caller,
    { phone }: { readonly phone: string },
  ): Promise<LineStatusAnswer & { readonly phone: string }> {
    return { ...(await this.#statusOf(accountId, phone)), phone }
  }

  async resOrBusiness(
    { accountId }: Caller,
    { phone }: { readonly phone: PhoneNumber },
  ): Promise<{ readonly phone: PhoneNumber; readonly resOrBusiness: ResOrBusiness }> {
    const found = await this.#parts.bookOf(accountId).resOrBusiness(phone)
    return { phone, resOrBusiness: found ?? 'U' }
  }

  async #statusOf(accountId: string, phone: string): Promise<LineStatusAnswer> {
    const number = asPhoneNumber(phone)
    if (!number) return malformed
    if (!possible.test(number)) return impossible
    const found = await this.#parts.bookOf(accountId).lineStatus(number)
    if (found && found.status !== 'ERROR') return found
    const { status, errorText } = this.#notInService(accountId, number) ?? found ?? noData
    return { status, errorText: errorText || 'no reason was given' }
  }

  /** Only what nobody knows of: a line that answers is in service, whatever a list says. */
  #notInService(accountId: string, number: PhoneNumber): LineStatusAnswer | undefined {
    const facts = this.#parts.planOf(accountId).lookup(number)
    if (facts.status !== 'unknown-prefix') return undefined
    return { status: 'invalid-phone', errorText: facts.detail }
  }
}
