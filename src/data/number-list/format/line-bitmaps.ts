/**
 * One bitmap of lines per touched prefix, 1,250 bytes each, for building and editing lists. Memory is
 * bounded by the count of prefixes, not of numbers.
 */
import { countEntries, unpackContainer } from './containers.js'
import { areaCount, bitmapWords, linesPerPrefix, slotsPerBlock } from './number-list-format.js'

const prefixCount = areaCount * slotsPerBlock
/** Bitmaps are allocated this many at a time. */
const slabBitmaps = 1024

export class LineBitmaps {
  /** Prefix to the number of its bitmap, starting at 1; 0 means none. */
  readonly #bitmapOf = new Uint32Array(prefixCount)
  readonly #entriesOf = new Uint16Array(prefixCount)
  /** 1 for each area code with a touched prefix. */
  readonly #touchedAreas = new Uint8Array(areaCount)
  readonly #slabs: Uint16Array[] = []
  #bitmaps = 0

  isTouched(prefix: number): boolean {
    return (this.#bitmapOf[prefix] ?? 0) > 0
  }

  /** Whether any prefix of the area code is touched. */
  isAreaTouched(areaCode: number): boolean {
    return this.#touchedAreas[areaCode] === 1
  }

  /** The count of set lines of a prefix. */
  countEntries(prefix: number): number {
    return this.#entriesOf[prefix] ?? 0
  }

  /** The bitmap of a touched prefix. */
  bitmapFor(prefix: number): Uint16Array {
    const bitmap = (this.#bitmapOf[prefix] ?? 0) - 1
    const from = (bitmap % slabBitmaps) * bitmapWords
    const slab = this.#slabs[Math.floor(bitmap / slabBitmaps)]
    if (!slab) throw new Error(`no bitmap for prefix ${prefix}`)
    return slab.subarray(from, from + bitmapWords)
  }

  /** Marks a prefix as touched and copies the container to its bitmap. */
  load(prefix: number, container: Uint16Array): void {
    this.#newBitmap(prefix)
    unpackContainer(container, this.bitmapFor(prefix))
    this.#entriesOf[prefix] = countEntries(container)
  }

  /** Sets a line; returns whether it changed. Throws `RangeError` outside 0-999999 and 0-9999. */
  set(prefix: number, line: number): boolean {
    const { slab, at } = this.#wordOf(prefix, line)
    const word = slab[at] ?? 0
    const bit = 1 << (line & 15)
    if ((word & bit) !== 0) return false
    slab[at] = word | bit
    this.#entriesOf[prefix] = (this.#entriesOf[prefix] ?? 0) + 1
    return true
  }

  /** Clears a line; returns whether it changed. Throws like {@link set}. */
  clear(prefix: number, line: number): boolean {
    const { slab, at } = this.#wordOf(prefix, line)
    const word = slab[at] ?? 0
    const bit = 1 << (line & 15)
    if ((word & bit) === 0) return false
    slab[at] = word & ~bit
    this.#entriesOf[prefix] = (this.#entriesOf[prefix] ?? 0) - 1
    return true
  }

  #wordOf(prefix: number, line: number): { readonly slab: Uint16Array; readonly at: number } {
    const bitmap = (this.#bitmapOf[prefix] || this.#newBitmap(prefix)) - 1
    const slab = this.#slabs[Math.floor(bitmap / slabBitmaps)]
    if (!slab || !(line >= 0 && line < linesPerPrefix)) {
      throw new RangeError(`prefix ${prefix}, line ${line} is not a telephone number`)
    }
    return { slab, at: (bitmap % slabBitmaps) * bitmapWords + (line >> 4) }
  }

  #newBitmap(prefix: number): number {
    if (!(prefix >= 0 && prefix < prefixCount)) {
      throw new RangeError(`${prefix} is not a prefix of six digits`)
    }
    if (this.#bitmaps % slabBitmaps === 0) {
      this.#slabs.push(new Uint16Array(slabBitmaps * bitmapWords))
    }
    this.#bitmaps += 1
    this.#bitmapOf[prefix] = this.#bitmaps
    this.#touchedAreas[Math.floor(prefix / slotsPerBlock)] = 1
    return this.#bitmaps
  }
}
