/** The tables of a number list file, read in place, and the check that no lookup can leave them. */
import { DataFileError } from '../../../errors.js'
import {
  areaCount,
  bitmapWords,
  computeBodyLayout,
  countSlots,
  linesPerPrefix,
  maxListedLines,
  type NumberListHeader,
  slotsPerBlock,
} from './number-list-format.js'

export interface ListTables {
  /** Area code to the first slot of its block. */
  readonly firstSlots: Uint32Array
  readonly slots: Uint32Array
  readonly words: Uint16Array
  /** Slot to the number of entries before it; empty when the list is not dated. */
  readonly ranks: Uint32Array
  readonly days: Uint16Array
}

/**
 * Returns the tables of a body whose length was checked. Throws {@link DataFileError} unless they are
 * consistent, since reading beyond a table gives `undefined`, which would look like an unlisted number.
 */
export function readListTables(path: string, header: NumberListHeader, body: Buffer): ListTables {
  const { buffer, byteOffset } = body
  const layout = computeBodyLayout(header)
  const at = (bytes: number) => [buffer, byteOffset + bytes] as const
  const areas = new Uint16Array(...at(0), areaCount)
  const slots = countSlots(header)
  const tables: ListTables = {
    firstSlots: Uint32Array.from(areas, (block) => block * slotsPerBlock),
    slots: new Uint32Array(...at(layout.slotsAt), slots),
    words: new Uint16Array(...at(layout.wordsAt), header.words),
    ranks: header.dated ? new Uint32Array(...at(layout.ranksAt), slots) : new Uint32Array(),
    days: header.dated ? new Uint16Array(...at(layout.daysAt), header.size) : new Uint16Array(),
  }
  const problem =
    findAreaProblem(areas, header) ?? findSlotProblem(tables) ?? findSizeProblem(tables, header)
  if (problem !== undefined) throw new DataFileError(path, problem)
  return tables
}

/** Each block except the empty one must belong to one area code, in ascending order. */
function findAreaProblem(areas: Uint16Array, { blocks }: NumberListHeader): string | undefined {
  let last = 0
  for (const block of areas) {
    if (block >= blocks) return 'an area code points outside the table of prefixes'
    if (block !== 0 && block !== last + 1) return 'the area codes do not follow one another'
    if (block !== 0) last = block
  }
  return last === blocks - 1 ? undefined : 'the area codes do not span the table of prefixes'
}

function findSlotProblem({ slots, words }: ListTables): string | undefined {
  let end = 0
  for (const start of slots) {
    const words = start - end
    if (words < 0) return 'the prefixes do not follow one another'
    if (words > maxListedLines && words !== bitmapWords) {
      return `a prefix of ${words} words is neither a list of lines nor a bitmap`
    }
    end = start
  }
  if (slots[0] !== 0 || end !== words.length) return 'the prefixes do not span the numbers'
  return slots[slotsPerBlock] === 0 ? undefined : 'the empty block is not empty'
}

function findSizeProblem(
  tables: ListTables,
  { size, dated }: NumberListHeader,
): string | undefined {
  const least = countAllEntries(tables, minEntriesIn)
  const most = countAllEntries(tables, maxEntriesIn)
  if (size < least || size > most) {
    return `header field size: '${size}' does not fit prefixes of ${least} to ${most} numbers`
  }
  return dated ? findRankProblem(tables, size) : undefined
}

function countAllEntries({ slots }: ListTables, entriesIn: (words: number) => number): number {
  let entries = 0
  for (let slot = 0; slot + 1 < slots.length; slot += 1)
    entries += entriesIn(difference(slots, slot))
  return entries
}

/** A list of lines has one entry per word; a bitmap has more entries than a list may have. */
function minEntriesIn(words: number): number {
  return words === bitmapWords ? maxListedLines + 1 : words
}

function maxEntriesIn(words: number): number {
  return words === bitmapWords ? linesPerPrefix : words
}

function findRankProblem({ slots, ranks }: ListTables, size: number): string | undefined {
  if (ranks[0] !== 0 || ranks.at(-1) !== size) return 'the days do not span the numbers'
  for (let slot = 0; slot + 1 < slots.length; slot += 1) {
    const words = difference(slots, slot)
    const entries = difference(ranks, slot)
    if (entries < minEntriesIn(words) || entries > maxEntriesIn(words)) {
      return 'the days do not fit the numbers of a prefix'
    }
  }
  return undefined
}

function difference(table: Uint32Array, slot: number): number {
  return (table[slot + 1] ?? 0) - (table[slot] ?? 0)
}
