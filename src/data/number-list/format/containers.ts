/**
 * The container of one prefix of a number list, in one of two forms: its lines in ascending order, or a
 * bitmap. The length distinguishes them: a bitmap has {@link bitmapWords} words.
 */
import { bitmapWords, linesPerPrefix, maxListedLines } from './number-list-format.js'

/** The count of set bits for each word value. */
const bitsOf = new Uint8Array(1 << 16)
for (let word = 1; word < bitsOf.length; word += 1) {
  bitsOf[word] = (bitsOf[word >> 1] ?? 0) + (word & 1)
}

/** The count of words of a container with the given count of entries. */
export function countContainerWords(entries: number): number {
  return entries <= maxListedLines ? entries : bitmapWords
}

function isBitmap(container: Uint16Array): boolean {
  return container.length === bitmapWords
}

/** The count of lines in a container. */
export function countEntries(container: Uint16Array): number {
  return isBitmap(container) ? countBitsBefore(container, bitmapWords) : container.length
}

/** The position of a line in a container; -1 if it is not in the container. */
export function findPosition(container: Uint16Array, line: number): number {
  if (!isBitmap(container)) return findListedPosition(container, line)
  const word = container[line >> 4] ?? 0
  const bit = 1 << (line & 15)
  if ((word & bit) === 0) return -1
  return countBitsBefore(container, line >> 4) + (bitsOf[word & (bit - 1)] ?? 0)
}

/** Whether a container contains a line. */
export function hasLine(container: Uint16Array, line: number): boolean {
  if (isBitmap(container)) return (((container[line >> 4] ?? 0) >> (line & 15)) & 1) === 1
  return findListedPosition(container, line) >= 0
}

function findListedPosition(lines: Uint16Array, line: number): number {
  let from = 0
  let to = lines.length
  while (from < to) {
    const middle = (from + to) >> 1
    if ((lines[middle] ?? 0) < line) from = middle + 1
    else to = middle
  }
  return lines[from] === line ? from : -1
}

function countBitsBefore(bitmap: Uint16Array, end: number): number {
  let bits = 0
  for (let at = 0; at < end; at += 1) bits += bitsOf[bitmap[at] ?? 0] ?? 0
  return bits
}

/** The count of lines that a bitmap and a container have in common. */
export function countCommonEntries(bitmap: Uint16Array, container: Uint16Array): number {
  let common = 0
  if (isBitmap(container)) {
    for (let at = 0; at < bitmapWords; at += 1) {
      common += bitsOf[(bitmap[at] ?? 0) & (container[at] ?? 0)] ?? 0
    }
    return common
  }
  for (const line of container) if (hasLine(bitmap, line)) common += 1
  return common
}

/** Sets the bits of a container's lines in an empty bitmap. */
export function unpackContainer(container: Uint16Array, bitmap: Uint16Array): void {
  if (isBitmap(container)) bitmap.set(container)
  else
    for (const line of container) bitmap[line >> 4] = (bitmap[line >> 4] ?? 0) | (1 << (line & 15))
}

/** Converts a bitmap with `entries` lines to a container; a list of lines is written to `into`. */
export function packContainer(
  bitmap: Uint16Array,
  entries: number,
  into: Uint16Array,
): Uint16Array {
  if (entries > maxListedLines) return bitmap
  let at = 0
  forEachLine(bitmap, (line) => {
    into[at] = line
    at += 1
  })
  return into.subarray(0, at)
}

/** Calls `visit` for each line of a bitmap, in ascending order. */
export function forEachLine(bitmap: Uint16Array, visit: (line: number) => void): void {
  for (let nth = 0; nth < bitmapWords; nth += 1) {
    for (let rest = bitmap[nth] ?? 0; rest !== 0; rest &= rest - 1) {
      visit(nth * 16 + lowestBit(rest))
    }
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}

/** Selects the days of a bitmap's lines, in their order, from an array with a day for every possible line. */
export function collectDays(bitmap: Uint16Array, dayOfLine: Uint16Array): Uint16Array {
  const days = new Uint16Array(linesPerPrefix)
  let at = 0
  forEachLine(bitmap, (line) => {
    days[at] = dayOfLine[line] ?? 0
    at += 1
  })
  return days.subarray(0, at)
}
