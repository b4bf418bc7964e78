/** Look-ups of one kind that are about one number each, and what is kept of them. */
import type { Question } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Asker } from './asker.js'
import { answerIn } from './lookup-failure.js'
import type { LookupName } from './lookup-options.js'
import type { LookupShelf } from './lookup-shelf.js'

/** Look-ups belong to no account: the provider answers with this program's own key. */
export const noAccount = ''

export interface SingleLookupParts<Fact> {
  readonly asker: Asker<Question, Fact | undefined, LookupName>
  readonly shelf: LookupShelf<Fact | undefined>
  /** Whether it will soon be another. */
  readonly passes?: (fact: Fact) => boolean
}

export class SingleLookup<Fact> {
  readonly asker: Asker<Question, Fact | undefined, LookupName>
  readonly #parts: SingleLookupParts<Fact>

  constructor(parts: SingleLookupParts<Fact>) {
    this.asker = parts.asker
    this.#parts = parts
  }

  /** Rejects with a {@link LookupError} when it could not be asked. */
  async of(number: PhoneNumber): Promise<Fact | undefined> {
    const { asker, shelf, passes = () => false } = this.#parts
    const kept = shelf.get(number)
    if (kept) return kept.value
    const fact = answerIn(await asker.ask({ accountId: noAccount, number }))
    shelf.keep(number, fact, fact === undefined || passes(fact) ? 'briefly' : 'long')
    return fact
  }
}
