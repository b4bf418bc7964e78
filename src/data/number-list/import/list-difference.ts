/** Compares a new list with the one in use, and detects lists that look truncated. */
import type { Instant } from '../../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../../domain/time/dates.js'
import { DataFileError, getErrorCode } from '../../../errors.js'
import { type NumberList, openNumberList } from '../format/number-list.js'
import type { NumberListBuilder } from '../format/number-list-builder.js'
import { areaCount, type Coverage } from '../format/number-list-format.js'

export interface ListComparison {
  /** Version of the list in use; `null` if there is none that could be read. */
  readonly previous: string | null
  /** The as-of date of the list in use; `undefined` if there is none. */
  readonly previousAsOf: Instant | undefined
  readonly sizeBefore: number
  readonly added: number | undefined
  readonly removed: number | undefined
  /** Large area codes that have fewer than half of their previous numbers. */
  readonly shrunk: readonly ShrunkAreaCode[]
}

interface ShrunkAreaCode {
  readonly areaCode: string
  readonly size: number
  readonly sizeBefore: number
}

const noList: ListComparison = {
  previous: null,
  previousAsOf: undefined,
  sizeBefore: 0,
  added: undefined,
  removed: undefined,
  shrunk: [],
}

/** Keeps no reference to the list in use, since it is as large as the new one. */
export function compareWithCurrent(
  path: string,
  builder: NumberListBuilder,
  coverage: Coverage,
): ListComparison {
  const list = openCurrentList(path)
  if (!list) return noList
  return {
    previous: list.version,
    previousAsOf: list.asOf,
    sizeBefore: list.size,
    ...builder.compareWith(list),
    shrunk: findShrunkAreaCodes(list, builder, coverage),
  }
}

/** `undefined` for a damaged list, which must not prevent its replacement. */
function openCurrentList(path: string): NumberList | undefined {
  try {
    return openNumberList(path)
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT' || cause instanceof DataFileError) return undefined
    throw cause
  }
}

/** A smaller area code may well lose half of its numbers in a month. */
const minNumbersToJudge = 1000

/** 200 to 999, since no area code begins with 0 or 1. */
const allAreaCodes = Array.from({ length: areaCount - 200 }, (_, nth) => String(nth + 200))

function findShrunkAreaCodes(
  list: NumberList,
  builder: NumberListBuilder,
  coverage: Coverage,
): readonly ShrunkAreaCode[] {
  return (coverage === 'all' ? allAreaCodes : coverage)
    .map((areaCode) => ({
      areaCode,
      size: builder.countInAreaCode(Number(areaCode)),
      sizeBefore: list.countInAreaCode(Number(areaCode)),
    }))
    .filter(({ size, sizeBefore }) => sizeBefore >= minNumbersToJudge && size * 2 < sizeBefore)
}

interface ShrinkCheck {
  readonly files: readonly string[]
  /** Path of the list in use. */
  readonly path: string
  readonly size: number
  readonly difference: ListComparison
}

/**
 * Throws {@link DataFileError} if more than half of all numbers, or of an area code, are gone: a
 * truncated download looks like a valid smaller file, and a missing file like an area code without
 * listed numbers.
 */
export function refuseShrunkList({ files, path, size, difference }: ShrinkCheck): void {
  const { sizeBefore, shrunk } = difference
  const [first] = shrunk
  const what =
    size * 2 < sizeBefore
      ? `${size} different numbers, fewer than half the ${sizeBefore} of the list in use (${path})`
      : first && describeShrunk(first, shrunk.length - 1, path)
  if (what === undefined) return
  throw new DataFileError(files.join(', '), `${what}; to import it anyway, use --allow-shrink`)
}

/**
 * Throws {@link DataFileError} if the new list is more than a day older than the one in use and lacks
 * some of its numbers, since those may have been listed since and would be treated as clean.
 */
export function refuseOlderList(
  { files, path, difference }: Omit<ShrinkCheck, 'size'>,
  asOf: Instant,
): void {
  const { previousAsOf = asOf, removed = 0 } = difference
  if (removed === 0 || asOf >= previousAsOf - msPerDay) return
  throw new DataFileError(
    files.join(', '),
    `is as of ${formatInstant(asOf)}, older than the list in use (${path}, as of ` +
      `${formatInstant(previousAsOf)}), and lacks ${removed} of its numbers; to go back to a kept ` +
      'version, use callgate lists rollback; to import it anyway, use --allow-older',
  )
}

function describeShrunk(
  { areaCode, size, sizeBefore }: ShrunkAreaCode,
  others: number,
  path: string,
): string {
  const also = others === 0 ? '' : ` (and ${others} more area codes likewise)`
  return (
    `area code ${areaCode} has ${size} different numbers, fewer than half the ${sizeBefore} it has ` +
    `in the list in use (${path})${also}; is a file missing?`
  )
}
