/**
 * Turns numbers in any order, with duplicates, into a number list file. Memory is bounded by the
 * prefixes touched, never by the numbers: 1,250 bytes each, and 20,000 more where numbers come with
 * a day. Reading source files is left to the feeds.
 */
import type { LocalDay } from '../../domain/clock.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { commonEntries, containerWords, daysInOrder, pack } from './containers.js'
import { LineBitmaps, prefixCount } from './line-bitmaps.js'
import type { NumberList } from './number-list.js'
import {
  bitmapWords,
  lastListDay,
  linesPerPrefix,
  type NumberListMeta,
  slotsPerBlock,
} from './number-list-format.js'
import { type NumberListContent, writeNumberList } from './number-list-writer.js'

/** Numbers that only one of two lists has. */
export interface ListDifference {
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
  areaCodes(): string[] {
    const found = new Set<number>()
    for (const prefix of this.#prefixes()) found.add(Math.floor(prefix / slotsPerBlock))
    return [...found].map((areaCode) => String(areaCode).padStart(3, '0'))
  }

  /** How many different numbers of an area code were added. */
  sizeOf(areaCode: number): number {
    let size = 0
    const end = (areaCode + 1) * slotsPerBlock
    for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
      size += this.#lines.entriesOf(prefix)
    }
    return size
  }

  /** True when the number is new. Of two days for a number the later one counts. */
  add(number: PhoneNumber, day?: LocalDay): boolean {
    return this.addDigits(Number(number.slice(0, 6)), Number(number.slice(6)), day)
  }

  /**
   * The same for `prefix` 0 to 999999 and `line` 0 to 9999, both of them whole numbers. Throws
   * `RangeError` for others, and for a day that is not one of 0 (not known) to `lastListDay`.
   */
  addDigits(prefix: number, line: number, day?: LocalDay): boolean {
    if (day !== undefined) checkDay(day)
    const isNew = this.#lines.set(prefix, line)
    if (isNew) this.#size += 1
    if (day !== undefined && day > 0) this.#noteDay(prefix, line, day)
    return isNew
  }

  /** What would change if this became the list in the place of `list`. */
  compareWith(list: NumberList): ListDifference {
    let common = 0
    for (const prefix of this.#prefixes()) {
      const container = list.containerOf(prefix)
      if (container.length > 0) common += commonEntries(this.#lines.of(prefix), container)
    }
    return { added: this.#size - common, removed: list.size - common }
  }

  /**
   * Writes the list aside, reads it back, calls `beforeSwap`, and only then puts it in the place of
   * `path`. Whatever goes wrong, an older file stays as it was. Gives the version of the list.
   */
  write(path: string, meta: NumberListMeta, beforeSwap?: () => void): Promise<string> {
    return writeNumberList(path, { content: this.#content(), meta, beforeSwap })
  }

  #noteDay(prefix: number, line: number, day: LocalDay): void {
    const days = this.#daysOf.get(prefix) ?? new Uint16Array(linesPerPrefix)
    this.#daysOf.set(prefix, days)
    days[line] = Math.max(days[line] ?? 0, day)
  }

  /** The prefixes that hold an entry, rising. */
  *#prefixes(): Generator<number> {
    for (let prefix = 0; prefix < prefixCount; prefix += 1) {
      if (this.#lines.entriesOf(prefix) > 0) yield prefix
    }
  }

  #content(): NumberListContent {
    const lines = this.#lines
    const packed = new Uint16Array(bitmapWords)
    return {
      size: this.#size,
      dated: this.#daysOf.size > 0,
      wordsOf: (prefix) => containerWords(lines.entriesOf(prefix)),
      containerOf: (prefix) => pack(lines.of(prefix), lines.entriesOf(prefix), packed),
      daysOf: (prefix) => {
        const days = this.#daysOf.get(prefix)
        return days ? daysInOrder(lines.of(prefix), days) : new Uint16Array(lines.entriesOf(prefix))
      },
    }
  }
}

function checkDay(day: LocalDay): void {
  if (Number.isInteger(day) && day >= 0 && day <= lastListDay) return
  throw new RangeError(`day ${day} is not one of 0 to ${lastListDay}`)
}
