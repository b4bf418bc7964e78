/**
 * Turns numbers in any order, with duplicates, into a number list file. Memory is bounded by the
 * prefixes touched, 1,250 bytes each, never by the numbers. Reading source files is left to the
 * feeds.
 */
import { renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { syncFolder, verifyCheckedFile, writeCheckedFile } from '../checked-file.js'
import { versionOf } from './number-list.js'
import {
  areaCount,
  asNumberListHeader,
  bitmapWords,
  linesPerPrefix,
  type NumberListMeta,
  numberListFile,
  slotCount,
  slotsPerBlock,
} from './number-list-format.js'

const prefixCount = areaCount * slotsPerBlock
/** Bitmaps are allocated this many at a time. */
const slabBitmaps = 1024
/** The file is written in pieces of this many words: 1 MB. */
const pieceWords = 1 << 19

/** Gathers numbers in bitmaps. Nothing must be added while it is being written. */
export class NumberListBuilder {
  /** Prefix to the number of its bitmap, from 1; 0 for none. */
  readonly #bitmapOf = new Uint32Array(prefixCount)
  readonly #entriesOf = new Uint16Array(prefixCount)
  readonly #slabs: Uint16Array[] = []
  #bitmaps = 0
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

  /** True when the number is new. */
  add(number: PhoneNumber): boolean {
    return this.addDigits(Number(number.slice(0, 6)), Number(number.slice(6)))
  }

  /** The same for `prefix` 0 to 999999 and `line` 0 to 9999, both of them whole numbers. */
  addDigits(prefix: number, line: number): boolean {
    const bitmap = (this.#bitmapOf[prefix] || this.#newBitmap(prefix)) - 1
    const slab = this.#slabs[Math.floor(bitmap / slabBitmaps)]
    if (!slab || !(line >= 0 && line < linesPerPrefix)) {
      throw new RangeError(`prefix ${prefix}, line ${line} is no telephone number`)
    }
    const at = (bitmap % slabBitmaps) * bitmapWords + (line >> 4)
    const word = slab[at] ?? 0
    const bit = 1 << (line & 15)
    if ((word & bit) !== 0) return false
    slab[at] = word | bit
    this.#entriesOf[prefix] = (this.#entriesOf[prefix] ?? 0) + 1
    this.#size += 1
    return true
  }

  /**
   * Writes the list aside, reads it back, and only then puts it in the place of `path`. Whatever
   * goes wrong, an older file stays as it was. Gives the version of the list.
   */
  async write(path: string, meta: NumberListMeta): Promise<string> {
    const aside = join(dirname(path), `.${basename(path)}.${process.pid}.new`)
    const { areas, slots, blocks, words } = this.#index()
    const header = asNumberListHeader(path, { ...meta, size: this.#size, blocks, words })
    try {
      const body = this.#body(areas, slots)
      const digest = await writeCheckedFile(aside, numberListFile, { ...header }, body)
      // Opening the list would prove no more and take its memory a second time.
      await verifyCheckedFile(aside, digest)
      renameSync(aside, path)
      syncFolder(dirname(path))
      return versionOf(digest)
    } catch (cause) {
      rmSync(aside, { force: true })
      throw cause
    }
  }

  #newBitmap(prefix: number): number {
    if (!(prefix >= 0 && prefix < prefixCount)) {
      throw new RangeError(`${prefix} is no prefix of six digits`)
    }
    if (this.#bitmaps % slabBitmaps === 0) {
      this.#slabs.push(new Uint16Array(slabBitmaps * bitmapWords))
    }
    this.#bitmaps += 1
    this.#bitmapOf[prefix] = this.#bitmaps
    return this.#bitmaps
  }

  /** The prefixes that hold an entry, rising. */
  *#prefixes(): Generator<number> {
    for (let prefix = 0; prefix < prefixCount; prefix += 1) {
      if ((this.#entriesOf[prefix] ?? 0) > 0) yield prefix
    }
  }

  #index() {
    const areas = new Uint16Array(areaCount)
    const touched = this.areaCodes().map(Number)
    const blocks = 1 + touched.length
    const slots = new Uint32Array(slotCount({ blocks }))
    let words = 0
    touched.forEach((areaCode, nth) => {
      areas[areaCode] = nth + 1
      for (let exchange = 0; exchange < slotsPerBlock; exchange += 1) {
        slots[(nth + 1) * slotsPerBlock + exchange] = words
        const entries = this.#entriesOf[areaCode * slotsPerBlock + exchange] ?? 0
        words += Math.min(entries, bitmapWords)
      }
    })
    slots[slots.length - 1] = words
    return { areas, slots, blocks, words }
  }

  /** Pieces share one buffer: each must be done with before the next is asked for. */
  *#body(areas: Uint16Array, slots: Uint32Array): Generator<Uint8Array> {
    yield bytesOf(areas)
    yield bytesOf(slots)
    const piece = new Uint16Array(pieceWords + bitmapWords)
    let used = 0
    for (const prefix of this.#prefixes()) {
      used += this.#putContainer(prefix, piece.subarray(used))
      if (used >= pieceWords) {
        yield bytesOf(piece.subarray(0, used))
        used = 0
      }
    }
    yield bytesOf(piece.subarray(0, used))
  }

  /** Gives how many words it wrote. */
  #putContainer(prefix: number, into: Uint16Array): number {
    const bitmap = this.#bitmapFor(prefix)
    if ((this.#entriesOf[prefix] ?? 0) >= bitmapWords) {
      into.set(bitmap)
      return bitmapWords
    }
    let at = 0
    bitmap.forEach((word, nth) => {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        into[at] = nth * 16 + lowestBit(rest)
        at += 1
      }
    })
    return at
  }

  #bitmapFor(prefix: number): Uint16Array {
    const bitmap = (this.#bitmapOf[prefix] ?? 0) - 1
    const from = (bitmap % slabBitmaps) * bitmapWords
    const slab = this.#slabs[Math.floor(bitmap / slabBitmaps)]
    if (!slab) throw new Error(`no bitmap for prefix ${prefix}`)
    return slab.subarray(from, from + bitmapWords)
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}

function bytesOf(words: Uint16Array | Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}
