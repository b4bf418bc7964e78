/** What a new list changes against the one in use, and whether it looks like one that was cut off. */
import { formatInstant, type Instant } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'
import { codeOf } from './leftover-files.js'
import { type NumberList, openNumberList } from './number-list.js'
import type { NumberListBuilder } from './number-list-builder.js'
import { areaCount, type Coverage } from './number-list-format.js'

export interface ListDifferenceFound {
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

const noList: ListDifferenceFound = {
  ...{ previous: null, previousAsOf: undefined, sizeBefore: 0 },
  ...{ added: undefined, removed: undefined, shrunk: [] },
}

/** The list in use is let go at once: it is as large as the new one. */
export function comparedWith(
  path: string,
  builder: NumberListBuilder,
  coverage: Coverage,
): ListDifferenceFound {
  const list = listInUse(path)
  if (!list) return noList
  return {
    previous: list.version,
    previousAsOf: list.asOf,
    sizeBefore: list.size,
    ...builder.compareWith(list),
    shrunk: shrunkIn(list, builder, coverage),
  }
}

/** A damaged list must not stand in the way of its replacement. */
function listInUse(path: string): NumberList | undefined {
  try {
    return openNumberList(path)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT' || cause instanceof DataFileError) return undefined
    throw cause
  }
}

/** With fewer numbers an area code may well lose half of them in a month. */
const manyNumbers = 1000

/** 200 to 999: no area code begins with 0 or 1. */
const allAreaCodes = Array.from({ length: areaCount - 200 }, (_, nth) => String(nth + 200))

function shrunkIn(
  list: NumberList,
  builder: NumberListBuilder,
  coverage: Coverage,
): readonly ShrunkAreaCode[] {
  return (coverage === 'all' ? allAreaCodes : coverage)
    .map((areaCode) => ({
      areaCode,
      size: builder.sizeOf(Number(areaCode)),
      sizeBefore: list.sizeOf(Number(areaCode)),
    }))
    .filter(({ size, sizeBefore }) => sizeBefore >= manyNumbers && size * 2 < sizeBefore)
}

interface Judged {
  readonly files: readonly string[]
  /** Of the list in use. */
  readonly path: string
  readonly size: number
  readonly difference: ListDifferenceFound
}

/**
 * Throws {@link DataFileError} when half the numbers are gone, of all or of an area code: a cut-off
 * download looks like a good file with fewer numbers, and one that is missing like an area code in
 * which nobody is listed.
 */
export function refuseShrunk({ files, path, size, difference }: Judged): void {
  const { sizeBefore, shrunk } = difference
  const [first] = shrunk
  const what =
    size * 2 < sizeBefore
      ? `${size} different numbers, fewer than half the ${sizeBefore} of the list in use (${path})`
      : first && describeShrunk(first, shrunk.length - 1, path)
  if (what === undefined) return
  throw new DataFileError(files.join(', '), `${what}; to import it all the same: --allow-shrink`)
}

const dayMs = 86_400_000

/**
 * Throws {@link DataFileError} when the new list is older by more than a day and lacks numbers of the
 * one in use: they may have been listed since, and would count as clean.
 */
export function refuseOlder(
  { files, path, difference }: Omit<Judged, 'size'>,
  asOf: Instant,
): void {
  const { previousAsOf = asOf, removed = 0 } = difference
  if (removed === 0 || asOf >= previousAsOf - dayMs) return
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
