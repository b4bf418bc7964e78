/** Rows of change files in typed arrays, since a single day of the registry may have a million of them. */
import type { Instant } from '../../../domain/time/clock.js'
import type { ListChange } from '../../feeds/lists/us-dnc-changes.js'

const firstCapacity = 4096
const deletion = 0
const addition = 1

/** Stores rows in the order in which they are added. */
export class ChangeRows {
  /** As ten digits. */
  #numbers = new Float64Array(firstCapacity)
  #stamps = new Float64Array(firstCapacity)
  /** {@link addition} or {@link deletion}. */
  #kinds = new Uint8Array(firstCapacity)
  /** For each area code, whether it has a row. */
  readonly #areaCodes = new Uint8Array(1000)
  readonly #change: ListChange = { prefix: 0, line: 0, at: 0, isAdded: false }
  #count = 0
  #isInOrder = true

  get count(): number {
    return this.#count
  }

  add({ prefix, line, at, isAdded }: ListChange): void {
    const nth = this.#count
    if (nth === this.#numbers.length) this.#grow()
    if (nth > 0 && at < (this.#stamps[nth - 1] ?? 0)) this.#isInOrder = false
    this.#numbers[nth] = prefix * 10_000 + line
    this.#stamps[nth] = at
    this.#kinds[nth] = isAdded ? addition : deletion
    this.#areaCodes[Math.floor(prefix / 1000)] = 1
    this.#count += 1
  }

  hasAreaCode(areaCode: string): boolean {
    return this.#areaCodes[Number(areaCode)] === 1
  }

  /**
   * Visits the rows by time. Among rows with the same time deletions come first, since timestamps may be
   * those of a day or of a whole batch, so the real order is unknown.
   */
  forEachInTimeOrder(visit: (change: Readonly<ListChange>) => void): void {
    const order = this.#isInOrder ? undefined : this.#order()
    const rowAt = (nth: number) => order?.[nth] ?? nth
    for (let start = 0; start < this.#count; ) {
      const end = this.#findTimeEnd(start, rowAt)
      for (const kind of [deletion, addition]) {
        for (let nth = start; nth < end; nth += 1) {
          const row = rowAt(nth)
          if (this.#kinds[row] === kind) visit(this.#changeAt(row))
        }
      }
      start = end
    }
  }

  #findTimeEnd(start: number, rowAt: (nth: number) => number): number {
    const at = this.#stamps[rowAt(start)]
    let end = start + 1
    while (end < this.#count && this.#stamps[rowAt(end)] === at) end += 1
    return end
  }

  /** Returns the same object each time. */
  #changeAt(row: number): Readonly<ListChange> {
    const number = this.#numbers[row] ?? 0
    const change = this.#change
    change.prefix = Math.floor(number / 10_000)
    change.line = number % 10_000
    change.at = this.#stamps[row] ?? 0
    change.isAdded = this.#kinds[row] === addition
    return change
  }

  /** The longest period without a row between `start` and the last row. */
  findLongestGap(start: Instant): { readonly from: Instant; readonly to: Instant } {
    let longest = { from: start, to: start }
    let last = start
    this.forEachInTimeOrder(({ at }) => {
      if (at - last > longest.to - longest.from) longest = { from: last, to: at }
      last = Math.max(last, at)
    })
    return longest
  }

  #order(): Uint32Array {
    const stamps = this.#stamps
    const order = Uint32Array.from({ length: this.#count }, (_, nth) => nth)
    return order.sort((one, other) => (stamps[one] ?? 0) - (stamps[other] ?? 0) || one - other)
  }

  #grow(): void {
    const capacity = this.#numbers.length * 2
    this.#numbers = growArray(this.#numbers, new Float64Array(capacity))
    this.#stamps = growArray(this.#stamps, new Float64Array(capacity))
    this.#kinds = growArray(this.#kinds, new Uint8Array(capacity))
  }
}

function growArray<Rows extends Float64Array | Uint8Array>(before: Rows, into: Rows): Rows {
  into.set(before)
  return into
}
