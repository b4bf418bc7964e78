/**
 * Changes a number list and writes the result as a new one. What no change touches is copied as it
 * is, so that the changes of a day cost little more than writing the file. Besides the base, memory
 * is bounded by the prefixes touched, 1,250 bytes each, never by the changes.
 */
import {
  collectDays,
  countContainerWords,
  forEachLine,
  hasLine,
  packContainer,
  unpackContainer,
} from './containers.js'
import { LineBitmaps } from './line-bitmaps.js'
import type { NumberList } from './number-list.js'
import { bitmapWords, linesPerPrefix, type NumberListMeta } from './number-list-format.js'
import { type NumberListContent, writeNumberList } from './number-list-writer.js'

/**
 * Nothing must change while it is being written. Prefixes are 0 to 999999 and lines 0 to 9999, all
 * of them whole numbers; others throw `RangeError`.
 */
export class NumberListEditor {
  readonly #base: NumberList
  /** The touched prefixes as they are now. */
  readonly #lines = new LineBitmaps()
  #added = 0
  #removed = 0

  constructor(base: NumberList) {
    this.#base = base
  }

  /** How many numbers the result has and the base has not. */
  get added(): number {
    return this.#added
  }

  /** How many numbers the base has and the result has not. */
  get removed(): number {
    return this.#removed
  }

  get size(): number {
    return this.#base.size + this.#added - this.#removed
  }

  /** True when the number was not there. Whatever is new to the base has no day. */
  add(prefix: number, line: number): boolean {
    this.#touch(prefix)
    if (!this.#lines.set(prefix, line)) return false
    if (this.#baseHolds(prefix, line)) this.#removed -= 1
    else this.#added += 1
    return true
  }

  /** True when the number was there. */
  remove(prefix: number, line: number): boolean {
    this.#touch(prefix)
    if (!this.#lines.clear(prefix, line)) return false
    if (this.#baseHolds(prefix, line)) this.#removed += 1
    else this.#added -= 1
    return true
  }

  /**
   * Writes the result aside, reads it back, calls `beforeReplace`, and only then puts it in the place
   * of `path`, which may be that of the base. Whatever goes wrong, an older file stays as it was.
   * Gives the version of the result. A dated list stays one.
   */
  write(path: string, meta: NumberListMeta, beforeReplace?: () => void): Promise<string> {
    return writeNumberList(path, { content: this.#content(), meta, beforeReplace })
  }

  #touch(prefix: number): void {
    if (this.#lines.isTouched(prefix)) return
    this.#lines.load(prefix, this.#base.containerOf(prefix))
  }

  #baseHolds(prefix: number, line: number): boolean {
    return hasLine(this.#base.containerOf(prefix), line)
  }

  #content(): NumberListContent {
    const base = this.#base
    const lines = this.#lines
    const packed = new Uint16Array(bitmapWords)
    return {
      size: this.size,
      dated: base.dated,
      mayHold: (areaCode) => base.hasBlock(areaCode) || lines.isAreaTouched(areaCode),
      wordsOf: (prefix) =>
        lines.isTouched(prefix)
          ? countContainerWords(lines.countEntries(prefix))
          : base.containerOf(prefix).length,
      containerOf: (prefix) =>
        lines.isTouched(prefix)
          ? packContainer(lines.bitmapFor(prefix), lines.countEntries(prefix), packed)
          : base.containerOf(prefix),
      daysOf: (prefix) =>
        lines.isTouched(prefix) ? this.#daysOfTouched(prefix) : base.daysOf(prefix),
    }
  }

  /** Numbers keep their day even when they were removed and added again. */
  #daysOfTouched(prefix: number): Uint16Array {
    const before = new Uint16Array(bitmapWords)
    unpackContainer(this.#base.containerOf(prefix), before)
    const days = this.#base.daysOf(prefix)
    const dayOfLine = new Uint16Array(linesPerPrefix)
    let at = 0
    forEachLine(before, (line) => {
      dayOfLine[line] = days[at] ?? 0
      at += 1
    })
    return collectDays(this.#lines.bitmapFor(prefix), dayOfLine)
  }
}
