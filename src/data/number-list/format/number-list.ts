/**
 * A number list file in memory: is this number on it, and does it speak for this number at all?
 * The bytes are used as they were read; nothing is unpacked. Making such a file is the business of
 * number-list-builder and number-list-editor.
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

/** Reads and verifies a file. Throws {@link DataFileError} that says what is wrong with it. */
export function openNumberList(path: string): NumberList {
  return toNumberList(path, readCheckedFile(path, numberListFile))
}

/** The same, but other work gets its turn while a large file is read. */
export async function openNumberListInBackground(path: string): Promise<NumberList> {
  return toNumberList(path, await readCheckedFileInPieces(path, numberListFile))
}

function toNumberList(path: string, { header: raw, body, digest }: CheckedFile): NumberList {
  const header = parseNumberListHeader(path, raw)
  requireBodyLength(path, header, body.length)
  return new NumberList(header, readListTables(path, header, body), toVersion(digest))
}

/**
 * Immutable. Get one with {@link openNumberList}.
 *
 * In memory it is its file and 5,000 bytes: 1,250 bytes for a prefix with 625 numbers or more, 2
 * bytes a number for any other, 4,000 bytes for an area code; when it is dated, 2 bytes a number and
 * 4,000 bytes for an area code more. 258.5 million numbers on 176,000 prefixes are 221 MB; without
 * days no list on up to 235,000 prefixes passes 300 MB.
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
  /** Whether entries carry days. */
  readonly dated: boolean
  readonly #firstSlots: Uint32Array
  readonly #slots: Uint32Array
  readonly #words: Uint16Array
  readonly #ranks: Uint32Array
  readonly #days: Uint16Array
  /** Per area code 1 when the list covers it. */
  readonly #covered: Uint8Array

  constructor(header: NumberListHeader, tables: ListTables, version: string) {
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

  /** False when it has no number of the area code. */
  hasBlock(areaCode: number): boolean {
    return (this.#firstSlots[areaCode] ?? 0) > 0
  }

  /** How many numbers of an area code are on it. */
  countInAreaCode(areaCode: number): number {
    let size = 0
    const end = (areaCode + 1) * slotsPerBlock
    for (let prefix = areaCode * slotsPerBlock; prefix < end; prefix += 1) {
      size += countEntries(this.containerOf(prefix))
    }
    return size
  }

  /** What `prefix`, six digits, holds: a view, not to be written to. */
  containerOf(prefix: number): Uint16Array {
    const slot = this.#slotOf(prefix)
    return this.#words.subarray(this.#slots[slot] ?? 0, this.#slots[slot + 1] ?? 0)
  }

  /** A day for each entry of a prefix, in their order, 0 for none; empty when nothing is dated. */
  daysOf(prefix: number): Uint16Array {
    const slot = this.#slotOf(prefix)
    return this.#days.subarray(this.#ranks[slot] ?? 0, this.#ranks[slot + 1] ?? 0)
  }

  #slotOf(prefix: number): number {
    const areaCode = Math.floor(prefix / slotsPerBlock)
    return (this.#firstSlots[areaCode] ?? 0) + (prefix % slotsPerBlock)
  }

  /** Halves without branching, which the processor could not foresee. */
  #arrayHas(start: number, length: number, line: number): boolean {
    const words = this.#words
    let at = start
    let left = length
    while (left > 1) {
      const half = left >> 1
      // -1, all bits set, when the upper half starts at or below the line; else 0
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
