/**
 * Turns numbers in any order, with duplicates, into a number list file. Memory is bounded by the
 * prefixes touched, never by the numbers: 1,250 bytes each, and 20,000 more where numbers come with
 * a day. Reading source files is left to the feeds.
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

/** Numbers that only one of two lists has. */
export interface ListDifferenceCounts {
  readonly added: number
  readonly removed: number
}

/** Gathers numbers in bitmaps. Nothing must be added while it is being written. */
export class NumberListBuilder {
  readonly #lines = new LineBitmaps()
  /** Prefix to a day for each line there may be. */
  readonly #daysOf = new Map<number, Uint16Array>()
  #size = 0

  /** How many different numbers were added. */
  get size(): number {
    return this.#size
  }

  /** The area codes that occur, sorted. */
  listAreaCodes(): string[] {
    const found = new Set<number>()
    for (const prefix of this.#prefixes()) found.add(Math.floor(prefix / slotsPerBlock))
    return [...found].map((areaCode) => String(areaCode).padStart(3, '0'))
  }

  /** How many different numbers of an area code were added. */
  countInAreaCode(areaCode: number): number {
    let size = 0
    const end = (areaCode + 1) * slotsPerBlock
    for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
      size += this.#lines.countEntries(prefix)
    }
    return size
  }

  /** True when the number is new. Of two days for a number the later one counts. */
  add(number: PhoneNumber, day?: LocalDay): boolean {
    return this.addDigits(Number(number.slice(0, 6)), Number(number.slice(6)), day)
  }

  /**
   * The same for `prefix` 0 to 999999 and `line` 0 to 9999, both of them whole numbers. Throws
   * `RangeError` for others, and for a day that is not one of 0 (not known) to `maxListDay`.
   */
  addDigits(prefix: number, line: number, day?: LocalDay): boolean {
    if (day !== undefined) checkDay(day)
    const isNew = this.#lines.set(prefix, line)
    if (isNew) this.#size += 1
    if (day !== undefined && day > 0) this.#setDay(prefix, line, day)
    return isNew
  }

  /** What would change if this became the list in the place of `list`. */
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
   * Writes the list aside, reads it back, calls `beforeReplace`, and only then puts it in the place of
   * `path`. Whatever goes wrong, an older file stays as it was. Gives the version of the list.
   */
  write(path: string, meta: NumberListMeta, beforeReplace?: () => void): Promise<string> {
    return writeNumberList(path, { content: this.#content(), meta, beforeReplace })
  }

  #setDay(prefix: number, line: number, day: LocalDay): void {
    const days = this.#daysOf.get(prefix) ?? new Uint16Array(linesPerPrefix)
    this.#daysOf.set(prefix, days)
    days[line] = Math.max(days[line] ?? 0, day)
  }

  /** The prefixes that hold an entry, rising. */
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
