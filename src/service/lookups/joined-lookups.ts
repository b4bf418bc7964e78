/**
 * Several books of look-ups as one. The first that has a fact answers; one that cannot be asked is
 * passed over, and whoever watches is told. Never rejects.
 */

import type {
  LineIdentity,
  LineStatus,
  LineStatusAnswer,
  LookupBook,
  ReassignedAnswer,
  ResOrBusiness,
} from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { mapInSlices } from '../../domain/slices.js'
import { type BookFailed, FailureNews, isLate, type NamedBook } from './failure-news.js'
import { joined } from './reassigned.js'

type Asked = Parameters<LookupBook['reassigned']>[0]

/** Say that nothing is known, or not yet: another book may know. */
const unsettled: ReadonlySet<LineStatus> = new Set(['pending', 'serverunavailable', 'ERROR'])

/** Said of numbers that a line may still answer at: another book may know that it does. */
const doubtful: ReadonlySet<LineStatus> = new Set([
  ...(['invalid-phone', 'invalid phone', 'invalid-format'] as const),
])

const late: LineStatusAnswer = { status: 'pending', errorText: '' }

const unavailable: LineStatusAnswer = {
  status: 'serverunavailable',
  errorText: 'the provider of line-status data cannot be asked now',
}

export class JoinedLookups implements LookupBook {
  readonly #books: readonly NamedBook<LookupBook>[]
  readonly #news: FailureNews

  /** Asked in that order. */
  constructor(books: readonly NamedBook<LookupBook>[], failed: BookFailed) {
    this.#books = books
    this.#news = new FailureNews(failed)
  }

  identity(number: PhoneNumber): Promise<LineIdentity | undefined> {
    return this.#first('identity', (book) => book.identity(number))
  }

  async resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined> {
    return this.#first('res-or-business', async (book) => {
      const said = await book.resOrBusiness(number)
      return said === 'U' ? undefined : said
    })
  }

  /** Where nobody has a fact, a book that failed is told as the spec has it, late or unavailable. */
  async lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined> {
    let doubted: LineStatusAnswer | undefined
    let trouble: LineStatusAnswer | undefined
    for (const each of this.#books) {
      const told = await this.#statusBy(each, number)
      if (!told) continue
      if (unsettled.has(told.status)) trouble ??= told
      else if (doubtful.has(told.status)) doubted ??= told
      else return told
    }
    return doubted ?? trouble
  }

  /** All are asked: a disconnect that any of them knows of has happened. */
  async reassigned(asked: Asked): Promise<readonly (ReassignedAnswer | undefined)[]> {
    const all = await Promise.all(
      this.#books.map(({ name, book }) =>
        this.#news.asked(`reassigned from ${name}`, () => book.reassigned(asked)),
      ),
    )
    return await mapInSlices(asked, (_one, index) => {
      const known = all.flatMap((said) => (said.failed ? [] : (said.value[index] ?? [])))
      return known.length === 0 ? undefined : known.reduce(joined)
    })
  }

  async #statusBy(
    { name, book }: NamedBook<LookupBook>,
    number: PhoneNumber,
  ): Promise<LineStatusAnswer | undefined> {
    const said = await this.#news.asked(`line-status from ${name}`, () => book.lineStatus(number))
    if (!said.failed) return said.value
    return isLate(said.cause) ? late : unavailable
  }

  async #first<Fact>(
    what: string,
    ask: (book: LookupBook) => Promise<Fact | undefined>,
  ): Promise<Fact | undefined> {
    for (const { name, book } of this.#books) {
      const said = await this.#news.asked(`${what} from ${name}`, () => ask(book))
      if (!said.failed && said.value !== undefined) return said.value
    }
    return undefined
  }
}
