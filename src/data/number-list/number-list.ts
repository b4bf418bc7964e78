/**
 * A number list file in memory: is this number on it, and does it speak for this number at all?
 * The bytes are used as they were read; nothing is unpacked. Making such a file is the business of
 * number-list-builder.
 */
import type { Instant } from '../../domain/clock.js'
import type { NumberSet } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { DataFileError } from '../../errors.js'
import { type CheckedFile, readCheckedFile, readCheckedFileInPieces } from '../checked-file.js'
import {
  areaCount,
  asNumberListHeader,
  bitmapWords,
  bodyBytes,
  type Coverage,
  type ListSource,
  type NumberListHeader,
  numberListFile,
  slotCount,
  slotsPerBlock,
} from './number-list-format.js'

const versionDigits = 16

/** The {@link NumberSet.version} of a list, from the SHA-256 of its content in hex. */
export function versionOf(digest: string): string {
  return digest.slice(0, versionDigits)
}

/** Reads and verifies a file. Throws {@link DataFileError} that says what is wrong with it. */
export function openNumberList(path: string): NumberList {
  return asNumberList(path, readCheckedFile(path, numberListFile))
}

/** The same, but other work gets its turn while a large file is read. */
export async function openNumberListInBackground(path: string): Promise<NumberList> {
  return asNumberList(path, await readCheckedFileInPieces(path, numberListFile))
}

function asNumberList(path: string, { header: raw, body, digest }: CheckedFile): NumberList {
  const header = asNumberListHeader(path, raw)
  if (body.length !== bodyBytes(header)) {
    throw new DataFileError(path, `body has ${body.length} bytes, not ${bodyBytes(header)}`)
  }
  const tables = tablesOf(header, body)
  checkTables(path, header, tables)
  return new NumberList(header, tables, versionOf(digest))
}

interface Tables {
  /** Area code to the first slot of its block. */
  readonly firstSlots: Uint32Array
  readonly slots: Uint32Array
  readonly words: Uint16Array
}

function tablesOf(header: NumberListHeader, body: Buffer): Tables {
  const { buffer, byteOffset } = body
  const areas = new Uint16Array(buffer, byteOffset, areaCount)
  const slotsAt = byteOffset + areaCount * 2
  const slots = new Uint32Array(buffer, slotsAt, slotCount(header))
  return {
    firstSlots: Uint32Array.from(areas, (block) => block * slotsPerBlock),
    slots,
    words: new Uint16Array(buffer, slotsAt + slots.byteLength, header.words),
  }
}

/** A lookup must never leave the tables: outside there is only `undefined`, which reads as absent. */
function checkTables(path: string, header: NumberListHeader, tables: Tables): void {
  const { firstSlots, slots, words } = tables
  if (firstSlots.some((first) => first >= header.blocks * slotsPerBlock)) {
    throw new DataFileError(path, 'an area code points outside the table of prefixes')
  }
  let end = 0
  for (const start of slots) {
    if (start < end || start > end + bitmapWords) {
      throw new DataFileError(path, 'the prefixes do not follow one another')
    }
    end = start
  }
  if (slots[0] !== 0 || end !== words.length) {
    throw new DataFileError(path, 'the prefixes do not span the numbers')
  }
}

/** Immutable. Get one with {@link openNumberList}. */
export class NumberList implements NumberSet {
  readonly name: string
  readonly size: number
  readonly version: string
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly coverage: Coverage
  readonly sources: readonly ListSource[]
  readonly #firstSlots: Uint32Array
  readonly #slots: Uint32Array
  readonly #words: Uint16Array
  /** Per area code 1 when the list speaks for it. */
  readonly #covered: Uint8Array

  constructor(header: NumberListHeader, tables: Tables, version: string) {
    this.name = header.name
    this.size = header.size
    this.version = version
    this.asOf = header.asOf
    this.importedAt = header.importedAt
    this.coverage = header.coverage
    this.sources = header.sources
    this.#firstSlots = tables.firstSlots
    this.#slots = tables.slots
    this.#words = tables.words
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
