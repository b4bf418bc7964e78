/**
 * A number list file in memory: whether a number is on the list, and whether the list covers it. The
 * bytes are used as read, without unpacking. `number-list-builder.ts` and `number-list-editor.ts` create
 * such files.
 */

import type { NumberSet } from '../../../domain/number-set.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { Instant, LocalDay } from '../../../domain/time/clock.js'
import {
  type CheckedFile,
  readCheckedFile,
  readCheckedFileInPieces,
} from '../../files/checked-file.js'
import { countEntries, findPosition } from './containers.js'
import {
  areaCount,
  bitmapWords,
  type Coverage,
  type ListSource,
  type NumberListHeader,
  numberListFile,
  parseNumberListHeader,
  requireBodyLength,
  slotsPerBlock,
  toVersion,
} from './number-list-format.js'
import { type ListTables, readListTables } from './number-list-tables.js'

/** Reads and verifies a file. Throws {@link DataFileError} describing what is wrong with it. */
export function openNumberList(path: string): NumberList {
  return toNumberList(path, readCheckedFile(path, numberListFile))
}

/** Like {@link openNumberList}, but yields to other work while reading a large file. */
export async function openNumberListInBackground(path: string): Promise<NumberList> {
  return toNumberList(path, await readCheckedFileInPieces(path, numberListFile))
}

function toNumberList(path: string, { header: raw, body, digest }: CheckedFile): NumberList {
  const header = parseNumberListHeader(path, raw)
  requireBodyLength(path, header, body.length)
  const tables = readListTables(path, header, body)
  return new NumberList({ header, tables, version: toVersion(digest) })
}

/** A list as it is sent to another thread, which then reads the same memory. */
export interface NumberListParts {
  readonly header: NumberListHeader
  readonly tables: ListTables
  readonly version: string
}

/**
 * Immutable; opened with {@link openNumberList}.
 *
 * It needs the memory of its file and 5,000 bytes. A file has 4,000 bytes per area code, and per prefix
 * 2 bytes per number or 1,250 bytes for a bitmap; a dated list has 2 more bytes per number and 4,000 per
 * area code. 258.5 million numbers in 176,000 prefixes take 221 MB; without days, no list with up to
 * 235,000 prefixes exceeds 300 MB.
 */
export class NumberList implements NumberSet {
  readonly name: string
  readonly feed: string
  readonly size: number
  readonly version: string
  readonly previous: string | null
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly coverage: Coverage
  readonly sources: readonly ListSource[]
  /** Whether entries have days. */
  readonly dated: boolean
  readonly #parts: NumberListParts
  readonly #firstSlots: Uint32Array
  readonly #slots: Uint32Array
  readonly #words: Uint16Array
  readonly #ranks: Uint32Array
  readonly #days: Uint16Array
  /** 1 for each area code that the list covers. */
  readonly #covered: Uint8Array

  constructor(parts: NumberListParts) {
    const { header, tables, version } = parts
    this.#parts = parts
    this.name = header.name
    this.feed = header.feed
    this.size = header.size
    this.version = version
    this.previous = header.previous
    this.asOf = header.asOf
    this.importedAt = header.importedAt
    this.coverage = header.coverage
    this.sources = header.sources
    this.dated = header.dated
    this.#firstSlots = tables.firstSlots
    this.#slots = tables.slots
    this.#words = tables.words
    this.#ranks = tables.ranks
    this.#days = tables.days
    this.#covered = new Uint8Array(areaCount)
    if (header.coverage === 'all') this.#covered.fill(1)
    else for (const areaCode of header.coverage) this.#covered[Number(areaCode)] = 1
  }

  /** The same list in the same memory by another name. */
  withName(name: string): NumberList {
    const { header } = this.#parts
    return new NumberList({ ...this.#parts, header: { ...header, name } })
  }

  /** For another thread. */
  share(): NumberListParts {
    return this.#parts
  }

  has(number: PhoneNumber): boolean {
    const slot = (this.#firstSlots[threeDigits(number, 0)] ?? 0) + threeDigits(number, 3)
    const start = this.#slots[slot] ?? 0
    const length = (this.#slots[slot + 1] ?? 0) - start
    if (length === 0) return false
    const line = threeDigits(number, 6) * 10 + number.charCodeAt(9) - zero
    if (length < bitmapWords) return this.#arrayHas(start, length, line)
    const word = this.#words[start + (line >> 4)] ?? 0
    return ((word >> (line & 15)) & 1) === 1
  }

  covers(number: PhoneNumber): boolean {
    return this.#covered[threeDigits(number, 0)] === 1
  }

  dayOf(number: PhoneNumber): LocalDay | undefined {
    if (!this.dated) return undefined
    const prefix = Number(number.slice(0, 6))
    const place = findPosition(this.containerOf(prefix), Number(number.slice(6)))
    if (place < 0) return undefined
    return this.#days[(this.#ranks[this.#slotOf(prefix)] ?? 0) + place] || undefined
  }

  /** False if the list has no number in the area code. */
  hasBlock(areaCode: number): boolean {
    return (this.#firstSlots[areaCode] ?? 0) > 0
  }

  /** The count of listed numbers in an area code. */
  countInAreaCode(areaCode: number): number {
    let size = 0
    const end = (areaCode + 1) * slotsPerBlock
    for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
      size += countEntries(this.containerOf(prefix))
    }
    return size
  }

  /** The container of a six-digit prefix; a view that must not be modified. */
  containerOf(prefix: number): Uint16Array {
    const slot = this.#slotOf(prefix)
    return this.#words.subarray(this.#slots[slot] ?? 0, this.#slots[slot + 1] ?? 0)
  }

  /** A day per entry of a prefix, in their order, 0 for none; empty if the list is not dated. */
  daysOf(prefix: number): Uint16Array {
    const slot = this.#slotOf(prefix)
    return this.#days.subarray(this.#ranks[slot] ?? 0, this.#ranks[slot + 1] ?? 0)
  }

  #slotOf(prefix: number): number {
    const areaCode = Math.floor(prefix / slotsPerBlock)
    return (this.#firstSlots[areaCode] ?? 0) + (prefix % slotsPerBlock)
  }

  /** A branchless binary search, since the branches would be unpredictable. */
  #arrayHas(start: number, length: number, line: number): boolean {
    const words = this.#words
    let at = start
    let left = length
    while (left > 1) {
      const half = left >> 1
      // -1 (all bits set) if the upper half starts at or below the line, else 0
      const upper = ((words[at + half] ?? 0) - line - 1) >> 31
      at += half & upper
      left -= half
    }
    return words[at] === line
  }
}

const zero = 48

function threeDigits(text: string, at: number): number {
  const hundreds = text.charCodeAt(at) - zero
  const tens = text.charCodeAt(at + 1) - zero
  return hundreds * 100 + tens * 10 + text.charCodeAt(at + 2) - zero
}
