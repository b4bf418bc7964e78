/**
 * Builds a number list file from numbers in any order, with duplicates. Memory is bounded by the count
 * of touched prefixes, not of numbers: 1,250 bytes each, and 20,000 more for a prefix with days.
 */

import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { LocalDay } from '../../../domain/time/clock.js'
import {
  collectDays,
  countCommonEntries,
  countContainerWords,
  packContainer,
} from './containers.js'
import { LineBitmaps } from './line-bitmaps.js'
import type { NumberList } from './number-list.js'
import {
  areaCount,
  bitmapWords,
  linesPerPrefix,
  maxListDay,
  type NumberListMeta,
  slotsPerBlock,
} from './number-list-format.js'
import { type NumberListContent, writeNumberList } from './number-list-writer.js'

/** Counts of numbers that are in only one of two lists. */
export interface ListDifferenceCounts {
  readonly added: number
  readonly removed: number
}

/** Collects numbers in bitmaps. Must not be changed while it is being written. */
export class NumberListBuilder {
  readonly #lines = new LineBitmaps()
  /** Prefix to a day for every possible line. */
  readonly #daysOf = new Map<number, Uint16Array>()
  #size = 0

  /** The count of distinct numbers added. */
  get size(): number {
    return this.#size
  }

  /** The area codes of the added numbers, sorted. */
  listAreaCodes(): string[] {
    const found = new Set<number>()
    for (const prefix of this.#prefixes()) found.add(Math.floor(prefix / slotsPerBlock))
    return [...found].map((areaCode) => String(areaCode).padStart(3, '0'))
  }

  /** The count of distinct numbers added for an area code. */
  countInAreaCode(areaCode: number): number {
    let size = 0
    const end = (areaCode + 1) * slotsPerBlock
    for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
      size += this.#lines.countEntries(prefix)
    }
    return size
  }

  /** Adds a number; returns whether it is new. If a number has several days, the latest is kept. */
  add(number: PhoneNumber, day?: LocalDay): boolean {
    return this.addDigits(Number(number.slice(0, 6)), Number(number.slice(6)), day)
  }

  /**
   * Like {@link add}, for a `prefix` from 0 to 999999 and a `line` from 0 to 9999. Throws `RangeError`
   * for other values, and for a day that is not from 0 (unknown) to `maxListDay`.
   */
  addDigits(prefix: number, line: number, day?: LocalDay): boolean {
    if (day !== undefined) checkDay(day)
    const isNew = this.#lines.set(prefix, line)
    if (isNew) this.#size += 1
    if (day !== undefined && day > 0) this.#setDay(prefix, line, day)
    return isNew
  }

  /** Counts what would change if this list replaced `list`. */
  compareWith(list: NumberList): ListDifferenceCounts {
    let common = 0
    for (const prefix of this.#prefixes()) {
      const container = list.containerOf(prefix)
      if (container.length > 0)
        common += countCommonEntries(this.#lines.bitmapFor(prefix), container)
    }
    return { added: this.#size - common, removed: list.size - common }
  }

  /**
   * Writes the list to a temporary file, verifies it, calls `beforeReplace`, and only then renames it to
   * `path`. If anything fails, an existing file is unchanged. Resolves to the version of the list.
   */
  write(path: string, meta: NumberListMeta, beforeReplace?: () => void): Promise<string> {
    return writeNumberList(path, { content: this.#content(), meta, beforeReplace })
  }

  #setDay(prefix: number, line: number, day: LocalDay): void {
    const days = this.#daysOf.get(prefix) ?? new Uint16Array(linesPerPrefix)
    this.#daysOf.set(prefix, days)
    days[line] = Math.max(days[line] ?? 0, day)
  }

  /** The prefixes that have an entry, in ascending order. */
  *#prefixes(): Generator<number> {
    for (let areaCode = 0; areaCode < areaCount; areaCode += 1) {
      if (!this.#lines.isAreaTouched(areaCode)) continue
      const end = (areaCode + 1) * slotsPerBlock
      for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
        if (this.#lines.countEntries(prefix) > 0) yield prefix
      }
    }
  }

  #content(): NumberListContent {
    const lines = this.#lines
    const packed = new Uint16Array(bitmapWords)
    return {
      size: this.#size,
      dated: this.#daysOf.size > 0,
      mayHold: (areaCode) => lines.isAreaTouched(areaCode),
      wordsOf: (prefix) => countContainerWords(lines.countEntries(prefix)),
      containerOf: (prefix) =>
        packContainer(lines.bitmapFor(prefix), lines.countEntries(prefix), packed),
      daysOf: (prefix) => {
        const days = this.#daysOf.get(prefix)
        return days
          ? collectDays(lines.bitmapFor(prefix), days)
          : new Uint16Array(lines.countEntries(prefix))
      },
    }
  }
}

function checkDay(day: LocalDay): void {
  if (Number.isInteger(day) && day >= 0 && day <= maxListDay) return
  throw new RangeError(`day ${day} is not one of 0 to ${maxListDay}`)
}
