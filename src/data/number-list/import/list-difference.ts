/** What a new list changes against the one in use, and whether it looks like one that was cut off. */
import type { Instant } from '../../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../../domain/time/dates.js'
import { DataFileError, getErrorCode } from '../../../errors.js'
import { type NumberList, openNumberList } from '../format/number-list.js'
import type { NumberListBuilder } from '../format/number-list-builder.js'
import { areaCount, type Coverage } from '../format/number-list-format.js'

export interface ListComparison {
  /** Version of the list in use; `null` when there is none that could be read. */
  readonly previous: string | null
  /** When the list in use was true; `undefined` when there is none. */
  readonly previousAsOf: Instant | undefined
  readonly sizeBefore: number
  readonly added: number | undefined
  readonly removed: number | undefined
  /** Area codes of the new list with fewer than half of the many numbers they had. */
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

/** The list in use is let go at once: it is as large as the new one. */
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

/** A damaged list must not stand in the way of its replacement. */
function openCurrentList(path: string): NumberList | undefined {
  try {
    return openNumberList(path)
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT' || cause instanceof DataFileError) return undefined
    throw cause
  }
}

/** With fewer numbers an area code may well lose half of them in a month. */
const minNumbersToJudge = 1000

/** 200 to 999: no area code begins with 0 or 1. */
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
  /** Of the list in use. */
  readonly path: string
  readonly size: number
  readonly difference: ListComparison
}

/**
 * Throws {@link DataFileError} when half the numbers are gone, of all or of an area code: a cut-off
 * download looks like a good file with fewer numbers, and one that is missing like an area code in
 * which nobody is listed.
 */
export function refuseShrunkList({ files, path, size, difference }: ShrinkCheck): void {
  const { sizeBefore, shrunk } = difference
  const [first] = shrunk
  const what =
    size * 2 < sizeBefore
      ? `${size} different numbers, fewer than half the ${sizeBefore} of the list in use (${path})`
      : first && describeShrunk(first, shrunk.length - 1, path)
  if (what === undefined) return
  throw new DataFileError(files.join(', '), `${what}; to import it all the same: --allow-shrink`)
}

/**
 * Throws {@link DataFileError} when the new list is older by more than a day and lacks numbers of the
 * one in use: they may have been listed since, and would count as clean.
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
      'version: callgate lists rollback; to import it all the same: --allow-older',
  )
}

function describeShrunk(
  { areaCode, size, sizeBefore }: ShrunkAreaCode,
  others: number,
  path: string,
): string {
  const also = others === 0 ? '' : ` (so have ${others} more)`
  return (
    `area code ${areaCode} has ${size} different numbers, fewer than half the ${sizeBefore} it has ` +
    `in the list in use (${path})${also}; is a file missing?`
  )
}
