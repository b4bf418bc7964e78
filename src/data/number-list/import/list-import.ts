/**
 * Makes a number list of downloaded files and puts it where the list store finds it. Either the
 * whole import succeeds or the list that was there stays as it was.
 */
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { toUtcDay } from '../../../domain/time/dates.js'
import { DataFileError } from '../../../errors.js'
import { type BadLine, BadLines } from '../../feeds/bad-lines.js'
import type { AssumedHeader } from '../../feeds/lists/number-lines.js'
import { readPlainNumbers } from '../../feeds/lists/plain-numbers.js'
import { detectPortedList, readPortedNumbers } from '../../feeds/lists/ported-numbers.js'
import { formatSourcePath, type SourceFile } from '../../files/source-file.js'
import type { OnProgress } from '../../files/source-progress.js'
import { NumberListBuilder } from '../format/number-list-builder.js'
import type { Coverage, ListSource } from '../format/number-list-format.js'
import { coversAllByDefault, isPortedList } from '../list-names.js'
import { removeListLeftovers, replaceList, resolveListPath } from '../list-version-files.js'
import { requireValidImportOptions } from './import-options.js'
import { compareWithCurrent, refuseOlderList, refuseShrunkList } from './list-difference.js'
import { withListLock } from './list-lock.js'
import { readSources, requireRows, type SourcesSummary } from './list-sources.js'

export interface ListImportOptions {
  /** A name {@link isListName} accepts, such as `us-dnc`. */
  readonly name: string
  /** Which importer this is, for the header of the list; `list` when left out. */
  readonly feed?: string | undefined
  /** Paths of plain text, `.gz` or `.zip` files; at least one. Archives are read whole. */
  readonly files: readonly string[]
  /** Where the list goes, as `<name>.cglist`. */
  readonly folder: string
  /** When the content was true; the oldest modification time of the files when left out. */
  readonly asOf?: Instant | undefined
  /**
   * What the list covers: area codes, or `all`. Left out, it is `all` for `litigators`, for
   * state lists and for ported numbers, and for any other name the area codes that occur. A registry
   * bought by area code should name them: one without an entry would go uncovered. Files without a
   * line of data are accepted only when it is stated.
   */
  readonly areaCodes?: Coverage | undefined
  /** Name of the column the numbers are in; found by the usual names, else the first. */
  readonly column?: string | undefined
  /** Name of the column with the day of each number; found by the usual names, else none. */
  readonly dayColumn?: string | undefined
  /** Bad lines to put up with, of all files together; none when left out. */
  readonly badLinesAllowed?: number | undefined
  /** Told of every bad line that is met. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Accept fewer than half the numbers of the list it replaces, of all or of an area code. */
  readonly allowShrink?: boolean | undefined
  /** Accept a list that is more than a day older than the one it replaces and lacks numbers of it. */
  readonly allowOlder?: boolean | undefined
  /** Read and judge everything, and change nothing: no lock, no file. */
  readonly dryRun?: boolean | undefined
  /** Earlier versions that are kept; 2 when left out. */
  readonly keepVersions?: number | undefined
  readonly clock: Clock
  readonly onProgress?: OnProgress | undefined
}

export interface ListImportSummary {
  readonly name: string
  readonly path: string
  /** `none` in a dry run, which makes no file. */
  readonly version: string
  /** The version it replaces; `null` when there was none that could be read. */
  readonly previous: string | null
  /** When that one was true. */
  readonly previousAsOf: Instant | undefined
  readonly dryRun: boolean
  /** Different numbers in the list. */
  readonly size: number
  /** Numbers that the list it replaces has not; `undefined` when there was none. */
  readonly added: number | undefined
  /** Numbers of the list it replaces that it has not; `undefined` when there was none. */
  readonly removed: number | undefined
  /** Numbers read, duplicates included. */
  readonly rows: number
  /** Numbers whose day could not be read or lies ahead: they are in the list without one. */
  readonly unreadDays: number
  readonly coverage: Coverage
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly sources: readonly ListSource[]
  readonly badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>
  /** First lines that were taken for column names, not for numbers. */
  readonly headers: readonly AssumedHeader[]
  /** Area codes that numbers of the list have and the stated coverage lacks. */
  readonly uncoveredAreaCodes: readonly string[]
  /** Area codes the list covers and has no number of; none where it covers all. */
  readonly emptyAreaCodes: readonly string[]
}

/** The {@link ListImportSummary.version} of a dry run. */
export const dryRunVersion = 'none'

/**
 * Throws `AppError` for options that break a rule and `DataFileError` for files that cannot be
 * used, among them cut-off ones and ones without a number (see {@link ListImportOptions}), and for a
 * second import of the list at the same time.
 */
export async function importList(options: ListImportOptions): Promise<ListImportSummary> {
  requireValidImportOptions(options)
  const { name, folder, clock } = options
  if (options.dryRun) return importLocked(options)
  return withListLock(folder, name, clock, () => {
    removeListLeftovers(folder, name, clock.now())
    return importLocked(options)
  })
}

async function importLocked(options: ListImportOptions): Promise<ListImportSummary> {
  const { name, folder, clock, keepVersions, dryRun = false, feed = 'list' } = options
  const importedAt = clock.now()
  const path = resolveListPath(folder, name)
  const builder = new NumberListBuilder()
  const badLines = new BadLines(options.badLinesAllowed, options.rejects)
  const read = await readFiles(options, { builder, badLines, importedAt })
  const { size } = builder
  const coverage = resolveCoverage(options, builder)
  const difference = compareWithCurrent(path, builder, coverage)
  const { files, allowShrink, allowOlder } = options
  if (allowShrink !== true) refuseShrunkList({ files, path, size, difference })
  const asOf = options.asOf ?? Math.min(read.oldest, importedAt)
  if (allowOlder !== true) refuseOlderList({ files, path, difference }, asOf)
  const { previous, previousAsOf, added, removed } = difference
  const { sources, rows, unreadDays, headers } = read
  const meta = { name, previous, asOf, importedAt, coverage, sources }
  const replacement = { folder, name, keepVersions, replacedVersion: previous }
  const version = dryRun
    ? dryRunVersion
    : await replaceList(replacement, (beforeSwap) =>
        builder.write(path, { ...meta, feed }, beforeSwap),
      )
  const { maxAllowed, count, first } = badLines
  return {
    ...meta,
    path,
    version,
    dryRun,
    size,
    previousAsOf,
    added,
    removed,
    rows,
    unreadDays,
    badLines: { maxAllowed, count, first },
    headers,
    uncoveredAreaCodes: findUncoveredAreaCodes(builder, coverage),
    emptyAreaCodes: findEmptyAreaCodes(builder, coverage),
  }
}

function findUncoveredAreaCodes(builder: NumberListBuilder, coverage: Coverage): readonly string[] {
  if (coverage === 'all') return []
  return builder.listAreaCodes().filter((areaCode) => !coverage.includes(areaCode))
}

function findEmptyAreaCodes(builder: NumberListBuilder, coverage: Coverage): readonly string[] {
  if (coverage === 'all') return []
  return coverage.filter((areaCode) => builder.countInAreaCode(Number(areaCode)) === 0)
}

interface ListReadTarget {
  readonly builder: NumberListBuilder
  readonly badLines: BadLines
  readonly importedAt: Instant
}

async function readFiles(
  options: ListImportOptions,
  { builder, badLines, importedAt }: ListReadTarget,
): Promise<SourcesSummary & { readonly unreadDays: number }> {
  const { name, areaCodes, column, dayColumn } = options
  const isPorted = isPortedList(name)
  const readNumbers = isPorted ? readPortedNumbers : readPlainNumbers
  const wanted = { column, dayColumn, today: toUtcDay(importedAt) }
  const advice =
    areaCodes === undefined
      ? 'state with --area-codes which area codes an empty list covers'
      : undefined
  let unreadDays = 0
  const read = await readSources(options, async (source, onRow) => {
    if (isPorted) refuseWrongPortedList(source, name)
    const add = (prefix: number, line: number, day?: number) => {
      onRow()
      builder.addDigits(prefix, line, day)
    }
    const one = await readNumbers(source, add, badLines, wanted)
    if (one.rows === 0) requireRows(source, { blank: one.isBlank, what: 'number', advice })
    unreadDays += one.unreadDays
    return one
  })
  return { ...read, unreadDays }
}

/** The two lists say opposite things. */
function refuseWrongPortedList(source: SourceFile, name: string): void {
  const named = detectPortedList(source.name)
  if (named === undefined || named === name) return
  const advice = 'import the files of each by themselves'
  throw new DataFileError(
    formatSourcePath(source),
    `belongs to ${named} by its name, not to ${name}; ${advice}`,
  )
}

function resolveCoverage(
  { name, areaCodes }: ListImportOptions,
  builder: NumberListBuilder,
): Coverage {
  const stated = areaCodes ?? (coversAllByDefault(name) ? 'all' : undefined)
  if (stated === undefined) return builder.listAreaCodes()
  return stated === 'all' ? stated : [...new Set(stated)].sort((a, b) => Number(a) - Number(b))
}
