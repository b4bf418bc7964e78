/** Several books of labels as one, and several of complaints. */
import type {
  Complaint,
  ComplaintBook,
  LabelBook,
  LabelSource,
  NumberLabels,
} from '../../domain/labels.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { type BookFailed, FailureNews, type NamedBook, type Said } from './failure-news.js'

/** The first that has heard from a source is believed; the others fill what it left out. */
export class JoinedLabels implements LabelBook {
  readonly #books: readonly NamedBook<LabelBook>[]
  readonly #news: FailureNews

  /** Asked in that order. */
  constructor(books: readonly NamedBook<LabelBook>[], failed: BookFailed) {
    this.#books = books
    this.#news = new FailureNews(failed)
  }

  /** Rejects when none of the books could be asked. */
  async labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelSource[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    const found = new Map<PhoneNumber, NumberLabels>()
    const all: Said<unknown>[] = []
    for (const { name, book } of this.#books) {
      const left = numbers.filter((number) => lacks(found.get(number), wanted))
      if (left.length === 0) break
      const said = await this.#news.asked(`labels from ${name}`, () => book.labels(left, wanted))
      all.push(said)
      if (!said.failed) fill(found, said.value, wanted)
    }
    rejectIfNoneAnswered(all)
    return found
  }
}

/** What any book knows, each complaint once, newest first. */
export class JoinedComplaints implements ComplaintBook {
  readonly #books: readonly NamedBook<ComplaintBook>[]
  readonly #news: FailureNews

  constructor(books: readonly NamedBook<ComplaintBook>[], failed: BookFailed) {
    this.#books = books
    this.#news = new FailureNews(failed)
  }

  /** Rejects when none of the books could be asked. */
  async complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>> {
    const all = await Promise.all(
      this.#books.map(({ name, book }) =>
        this.#news.asked(`complaints from ${name}`, () => book.complaints(numbers)),
      ),
    )
    rejectIfNoneAnswered(all)
    const found = new Map<PhoneNumber, readonly Complaint[]>()
    for (const said of all) {
      if (said.failed) continue
      for (const [number, complaints] of said.value) {
        found.set(number, together(found.get(number), complaints))
      }
    }
    return found
  }
}

function lacks(labels: NumberLabels | undefined, wanted: readonly LabelSource[]): boolean {
  return wanted.some((source) => labels?.[source] === undefined)
}

function fill(
  found: Map<PhoneNumber, NumberLabels>,
  more: ReadonlyMap<PhoneNumber, NumberLabels>,
  wanted: readonly LabelSource[],
): void {
  for (const [number, labels] of more) {
    const said = Object.fromEntries(
      wanted.flatMap((source) => (labels[source] === undefined ? [] : [[source, labels[source]]])),
    ) as NumberLabels
    found.set(number, { ...said, ...found.get(number) })
  }
}

function rejectIfNoneAnswered(all: readonly Said<unknown>[]): void {
  const [first] = all
  if (first?.failed && all.every(({ failed }) => failed)) throw first.cause
}

function together(
  known: readonly Complaint[] | undefined,
  more: readonly Complaint[],
): readonly Complaint[] {
  if (!known) return more
  const byId = new Map([...more, ...known].map((one) => [one.id, one]))
  return [...byId.values()].sort((one, other) => (whenOf(one) < whenOf(other) ? 1 : -1))
}

/** `MM/DD/YYYY HH:MM:SS` as a text that sorts by time. */
function whenOf({ createdDate }: Complaint): string {
  return createdDate.slice(6, 10) + createdDate.slice(0, 5) + createdDate.slice(10)
}
