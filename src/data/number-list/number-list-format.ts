/**
 * The layout of a number list file, shared by its reader and its builder. The outer shell (magic,
 * header, checksum) is the business of checked-file.
 *
 * Body, little endian:
 * 1. `areaCount` Uint16: for each area code 000-999 the number of its block; block 0 is empty.
 * 2. blocks of `slotsPerBlock` Uint32, one slot per exchange, and a last slot: where in the words
 *    the container of the prefix starts. It ends where the next slot says; an empty one is empty.
 * 3. words, Uint16: the containers. One of `bitmapWords` words is a bitmap, line 0 in the lowest bit
 *    of its first word; a shorter one is the lines themselves, rising.
 */
import { DataFileError } from '../../errors.js'
import type { FileKind } from '../checked-file.js'

export const numberListFile: FileKind = { kind: 'number-list', formatVersion: 1 }

/** What number list files are called: `us-dnc.cglist`. */
export const numberListExtension = '.cglist'

export const areaCount = 1000
export const slotsPerBlock = 1000
export const linesPerPrefix = 10_000
/** A bit for each line of a prefix: 1,250 bytes. */
export const bitmapWords = linesPerPrefix / 16

/** The area codes a list speaks for, sorted; `all` when it speaks for every number. */
export type Coverage = 'all' | readonly string[]

/** A file the list was made of. */
export interface ListSource {
  readonly file: string
  /** SHA-256 of the file as supplied, in hex. */
  readonly sha256: string
  /** Numbers read from it, duplicates included. */
  readonly rows: number
}

/** What is known of a list besides its numbers. */
export interface NumberListMeta {
  readonly name: string
  /** When the content was true; ms since the epoch. */
  readonly asOf: number
  readonly importedAt: number
  readonly coverage: Coverage
  readonly sources: readonly ListSource[]
}

export interface NumberListHeader extends NumberListMeta {
  readonly size: number
  /** Blocks of slots, the empty one included. */
  readonly blocks: number
  readonly words: number
}

/** Slots of the body, the last one included. */
export function slotCount({ blocks }: Pick<NumberListHeader, 'blocks'>): number {
  return blocks * slotsPerBlock + 1
}

/** Bytes of the body a header announces. */
export function bodyBytes(header: Pick<NumberListHeader, 'blocks' | 'words'>): number {
  return areaCount * 2 + slotCount(header) * 4 + header.words * 2
}

/** Checks a header that was read. Throws {@link DataFileError} that names the field. */
export function asNumberListHeader(
  path: string,
  header: Readonly<Record<string, unknown>>,
): NumberListHeader {
  const refuse = (field: string, rule: string) =>
    new DataFileError(path, `header field ${field}: ${rule}`)
  const count = (field: string): number => {
    const value = header[field]
    if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
    throw refuse(field, `'${String(value)}' is not a whole number`)
  }
  const { name, coverage, sources } = header
  if (typeof name !== 'string') throw refuse('name', 'is not a text')
  if (!isCoverage(coverage)) throw refuse('coverage', "is neither 'all' nor area codes")
  if (!isSources(sources)) throw refuse('sources', 'is not a list of file, sha256 and rows')
  const counts = { size: count('size'), blocks: count('blocks'), words: count('words') }
  const times = { asOf: count('asOf'), importedAt: count('importedAt') }
  return { name, coverage, sources, ...counts, ...times }
}

function isCoverage(value: unknown): value is Coverage {
  return value === 'all' || (Array.isArray(value) && value.every(isAreaCode))
}

/** Three digits, the first 2 to 9. */
export function isAreaCode(value: unknown): value is string {
  return typeof value === 'string' && /^[2-9]\d{2}$/.test(value)
}

function isSources(value: unknown): value is readonly ListSource[] {
  return Array.isArray(value) && value.every(isSource)
}

function isSource(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { file, sha256, rows } = value as Record<string, unknown>
  return typeof file === 'string' && typeof sha256 === 'string' && typeof rows === 'number'
}
