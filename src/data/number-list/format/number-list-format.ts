/**
 * The layout of a number list file, shared by its reader and its writers. `checked-file.ts` handles the
 * container (magic, header, checksum).
 *
 * Body, little endian:
 * 1. `areaCount` Uint16: for each area code 000-999, the number of its block; block 0 is empty.
 * 2. blocks of `slotsPerBlock` Uint32, one slot per exchange, and a final slot: the offset of the
 *    prefix's container in the words. The next slot is its end; equal slots mean an empty container.
 * 3. words, Uint16: the containers. A container of `bitmapWords` words is a bitmap, with line 0 in the
 *    lowest bit of its first word; one of at most `maxListedLines` words lists the lines, ascending.
 *
 * If the list is dated, from the next multiple of 4 on:
 * 4. one Uint32 per slot: the count of entries before the prefix's container; the last is the size of
 *    the list.
 * 5. one Uint16 per entry, in the order of the containers and of the lines in each: the day that the
 *    source gives for the number, in days since 1970-01-01; 0 if it gives none.
 */
import { DataFileError } from '../../../errors.js'
import { type FileKind, readCheckedHeader } from '../../files/checked-file.js'

export const numberListFile: FileKind = { kind: 'number-list', formatVersion: 1 }

/** The extension of number list files, as in `us-dnc.cglist`. */
export const numberListExtension = '.cglist'

export const areaCount = 1000
export const slotsPerBlock = 1000
export const linesPerPrefix = 10_000
/** One bit per line of a prefix: 1,250 bytes. */
export const bitmapWords = linesPerPrefix / 16
/**
 * Up to this many lines of a prefix are listed individually, which fit into one cache line. A bitmap is
 * larger than a list of up to 625 lines, but needs one memory access where a search needs several.
 */
export const maxListedLines = 32
/** 2149-06-06, the latest day that an entry can have. */
export const maxListDay = 65_535

/** The area codes that a list covers, sorted; `all` if it covers every number. */
export type Coverage = 'all' | readonly string[]

/** A file that the list was built from. */
export interface ListSource {
  readonly file: string
  /** SHA-256 of the file as supplied, in hex. */
  readonly sha256: string
  /** Numbers read from it, duplicates included. */
  readonly rows: number
}

/** The metadata of a list. */
export interface NumberListMeta {
  readonly name: string
  /** The importer that created it, such as `us-dnc` or `list`. */
  readonly feed: string
  /** The version that it replaces; `null` for the first list of its name. */
  readonly previous: string | null
  /** The date of the content, in ms since the epoch. */
  readonly asOf: number
  readonly importedAt: number
  readonly coverage: Coverage
  readonly sources: readonly ListSource[]
}

export interface NumberListHeader extends NumberListMeta {
  readonly size: number
  /** Count of slot blocks, including the empty one. */
  readonly blocks: number
  readonly words: number
  /** Whether entries have days. */
  readonly dated: boolean
}

const versionDigits = 16

/** Derives the version of a list from the SHA-256 of its content in hex. */
export function toVersion(digest: string): string {
  return digest.slice(0, versionDigits)
}

/** Count of slots in the body, including the final one. */
export function countSlots({ blocks }: Pick<NumberListHeader, 'blocks'>): number {
  return blocks * slotsPerBlock + 1
}

/** Offsets of the parts of a body, in bytes from its start. */
export interface BodyLayout {
  readonly slotsAt: number
  readonly wordsAt: number
  /** Bytes between the words and the ranks. */
  readonly padding: number
  readonly ranksAt: number
  readonly daysAt: number
  readonly end: number
}

/** Computes the layout of the body from its header. */
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

/** Throws {@link DataFileError} unless the body has the length that follows from its header. */
export function requireBodyLength(path: string, header: NumberListHeader, bytes: number): void {
  const { end } = computeBodyLayout(header)
  if (bytes !== end) throw new DataFileError(path, `body has ${bytes} bytes, not ${end}`)
}

/**
 * Reads the metadata of a file without its body, for listings. The form of version, header and length
 * is checked, but not the checksum. Throws {@link DataFileError}, and the system's error if the file
 * cannot be read.
 */
export function readNumberListHeader(
  path: string,
): NumberListHeader & { readonly version: string } {
  const { header: raw, bodyBytes, digest } = readCheckedHeader(path, numberListFile)
  const header = parseNumberListHeader(path, raw)
  requireBodyLength(path, header, bodyBytes)
  return { ...header, version: toVersion(digest) }
}

/** Validates a header. Throws {@link DataFileError} naming the field. */
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
