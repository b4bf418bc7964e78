/**
 * The layout of a number list file, shared by its reader and its writers. The outer shell (magic,
 * header, checksum) is the business of checked-file.
 *
 * Body, little endian:
 * 1. `areaCount` Uint16: for each area code 000-999 the number of its block; block 0 is empty.
 * 2. blocks of `slotsPerBlock` Uint32, one slot per exchange, and a last slot: where in the words
 *    the container of the prefix starts. It ends where the next slot says; an empty one is empty.
 * 3. words, Uint16: the containers. One of `bitmapWords` words is a bitmap, line 0 in the lowest bit
 *    of its first word; one of at most `maxListedLines` words is the lines themselves, rising.
 *
 * And when the list is dated, from the next multiple of 4 on:
 * 4. as many Uint32 as there are slots: how many entries lie before the container of the prefix;
 *    the last is the size of the list.
 * 5. a Uint16 for each entry, in the order of the containers and, inside of one, of the lines: the
 *    day the source gives for it, in days since 1970-01-01; 0 when it gives none.
 */
import { DataFileError } from '../../../errors.js'
import { type FileKind, readCheckedHeader } from '../../files/checked-file.js'

/** Format 1 knew neither feed nor previous version nor days. */
export const numberListFile: FileKind = { kind: 'number-list', formatVersion: 2 }

/** What number list files are called: `us-dnc.cglist`. */
export const numberListExtension = '.cglist'

export const areaCount = 1000
export const slotsPerBlock = 1000
export const linesPerPrefix = 10_000
/** A bit for each line of a prefix: 1,250 bytes. */
export const bitmapWords = linesPerPrefix / 16
/**
 * So many lines of a prefix are still listed one by one, which fits in one read of memory. Above it a
 * bitmap is larger, up to 625 lines, and is read in one place where a search would read several.
 */
export const maxListedLines = 32
/** 2149-06-06, the last day an entry may carry. */
export const maxListDay = 65_535

/** The area codes a list covers, sorted; `all` when it covers every number. */
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
  /** The importer that made it, such as `us-dnc` or `list`. */
  readonly feed: string
  /** The version it replaces; `null` for the first of its name. */
  readonly previous: string | null
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
  /** Whether entries carry days. */
  readonly dated: boolean
}

const versionDigits = 16

/** The version of a list, from the SHA-256 of its content in hex. */
export function toVersion(digest: string): string {
  return digest.slice(0, versionDigits)
}

/** Slots of the body, the last one included. */
export function countSlots({ blocks }: Pick<NumberListHeader, 'blocks'>): number {
  return blocks * slotsPerBlock + 1
}

/** Where the parts of a body begin, in bytes from its start. */
export interface BodyLayout {
  readonly slotsAt: number
  readonly wordsAt: number
  /** Bytes between the words and the ranks. */
  readonly padding: number
  readonly ranksAt: number
  readonly daysAt: number
  readonly end: number
}

/** The body a header announces. */
export function computeBodyLayout(
  header: Pick<NumberListHeader, 'blocks' | 'words' | 'size' | 'dated'>,
): BodyLayout {
  const slotsAt = areaCount * 2
  const slotBytes = countSlots(header) * 4
  const wordsAt = slotsAt + slotBytes
  const wordsEnd = wordsAt + header.words * 2
  const padding = header.dated ? wordsEnd % 4 : 0
  const ranksAt = wordsEnd + padding
  const daysAt = ranksAt + (header.dated ? slotBytes : 0)
  const end = daysAt + (header.dated ? header.size * 2 : 0)
  return { slotsAt, wordsAt, padding, ranksAt, daysAt, end }
}

/** Throws {@link DataFileError} unless the body is as long as its header says. */
export function requireBodyLength(path: string, header: NumberListHeader, bytes: number): void {
  const { end } = computeBodyLayout(header)
  if (bytes !== end) throw new DataFileError(path, `body has ${bytes} bytes, not ${end}`)
}

/**
 * What a file says of itself, without reading its body: for listings. Version, header and length
 * are checked for their form; that the content matches its checksum is not. Throws
 * {@link DataFileError}, and the system's error when the file cannot be read.
 */
export function readNumberListHeader(
  path: string,
): NumberListHeader & { readonly version: string } {
  const { header: raw, bodyBytes, digest } = readCheckedHeader(path, numberListFile)
  const header = parseNumberListHeader(path, raw)
  requireBodyLength(path, header, bodyBytes)
  return { ...header, version: toVersion(digest) }
}

/** Checks a header that was read. Throws {@link DataFileError} that names the field. */
export function parseNumberListHeader(
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
  const text = (field: string): string => {
    const value = header[field]
    if (typeof value === 'string' && value !== '') return value
    throw refuse(field, 'is not a text')
  }
  const { coverage, sources, previous, dated } = header
  const names = { name: text('name'), feed: text('feed') }
  if (!isPrevious(previous)) throw refuse('previous', `'${String(previous)}' is not a version`)
  if (!isCoverage(coverage)) throw refuse('coverage', "is neither 'all' nor area codes")
  if (!isSources(sources)) throw refuse('sources', 'is not a list of file, sha256 and rows')
  if (typeof dated !== 'boolean') throw refuse('dated', 'is neither true nor false')
  const counts = { size: count('size'), blocks: count('blocks'), words: count('words') }
  const times = { asOf: count('asOf'), importedAt: count('importedAt') }
  return { ...names, previous, coverage, sources, dated, ...counts, ...times }
}

function isPrevious(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && /^[0-9a-f]{16}$/.test(value))
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
