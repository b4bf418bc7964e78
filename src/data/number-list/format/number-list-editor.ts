/**
 * Changes a number list and writes the result as a new one. Untouched prefixes are copied unchanged, so
 * that applying a day's changes takes little longer than writing the file. Besides the base list,
 * memory is bounded by the touched prefixes, 1,250 bytes each, not by the changes.
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
 * Must not be changed while it is being written. Prefixes are whole numbers from 0 to 999999 and lines
 * from 0 to 9999; others throw `RangeError`.
 */
export class NumberListEditor {
  readonly #base: NumberList
  /** The current lines of the touched prefixes. */
  readonly #lines = new LineBitmaps()
  #added = 0
  #removed = 0

  constructor(base: NumberList) {
    this.#base = base
  }

  /** The count of numbers that are in the result but not in the base. */
  get added(): number {
    return this.#added
  }

  /** The count of numbers that are in the base but not in the result. */
  get removed(): number {
    return this.#removed
  }

  get size(): number {
    return this.#base.size + this.#added - this.#removed
  }

  /** Adds a number; returns whether it was missing. Numbers that are not in the base get no day. */
  add(prefix: number, line: number): boolean {
    this.#touch(prefix)
    if (!this.#lines.set(prefix, line)) return false
    if (this.#baseHolds(prefix, line)) this.#removed -= 1
    else this.#added += 1
    return true
  }

  /** Removes a number; returns whether it was present. */
  remove(prefix: number, line: number): boolean {
    this.#touch(prefix)
    if (!this.#lines.clear(prefix, line)) return false
    if (this.#baseHolds(prefix, line)) this.#removed += 1
    else this.#added -= 1
    return true
  }

  /**
   * Writes the result to a temporary file, verifies it, calls `beforeReplace`, and only then renames it
   * to `path`, which may be that of the base. If anything fails, an existing file is unchanged. Resolves
   * to the version of the result. A dated list remains dated.
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

  /** Numbers keep their day even if they were removed and added again. */
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
