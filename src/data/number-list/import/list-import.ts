/**
 * Builds a number list from downloaded files and puts it into the folder of the list store. Either the
 * whole import succeeds or the previous list is unchanged.
 */
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { toUtcDay } from '../../../domain/time/dates.js'
import { DataFileError } from '../../../errors.js'
import { type BadLine, BadLines } from '../../feeds/bad-lines.js'
import type { AssumedHeader } from '../../feeds/lists/number-lines.js'
import { readPlainNumbers } from '../../feeds/lists/plain-numbers.js'
import { detectPortedList, readPortedNumbers } from '../../feeds/lists/ported-numbers.js'
import type { TableOptions } from '../../feeds/table-layout.js'
import { formatSourcePath, type SourceFile } from '../../files/source-file.js'
import type { OnProgress } from '../../files/source-progress.js'
import { NumberListBuilder } from '../format/number-list-builder.js'
import type { Coverage, ListSource } from '../format/number-list-format.js'
import { coversAllByDefault, isPortedList, splitListName } from '../list-names.js'
import { resolveListPath } from '../list-paths.js'
import { removeListLeftovers, replaceList } from '../list-version-files.js'
import { requireValidImportOptions } from './import-options.js'
import { compareWithCurrent, refuseOlderList, refuseShrunkList } from './list-difference.js'
import { withListLock } from './list-lock.js'
import { readSources, requireRows, type SourcesSummary } from './list-sources.js'

export interface ListImportOptions {
  /** A valid name among the lists of all accounts (see {@link isAccountListName}), such as `us-dnc`. */
  readonly name: string
  /** Name of the importer, for the header of the list; default `list`. */
  readonly feed?: string | undefined
  /** Paths of plain text, `.gz` or `.zip` files; at least one. Every file of an archive is read. */
  readonly files: readonly string[]
  /** The folder of all lists. */
  readonly folder: string
  /** The date of the content; by default the oldest modification time of the files. */
  readonly asOf?: Instant | undefined
  /**
   * The area codes that the list covers, or `all`. The default is `all` for `litigators`, state lists
   * and ported numbers, and for other lists the area codes that occur. For a registry subscribed to by
   * area code, name the codes; otherwise one without an entry is not covered. Files without data are
   * accepted only if this option is given.
   */
  readonly areaCodes?: Coverage | undefined
  readonly table?: TableOptions | undefined
  /** Maximum bad lines of all files together; none by default. */
  readonly badLinesAllowed?: number | undefined
  /** Called for every bad line. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Accept fewer than half the numbers of the list it replaces, in total or for an area code. */
  readonly allowShrink?: boolean | undefined
  /** Accept a list that is more than a day older than the one it replaces and lacks some of its numbers. */
  readonly allowOlder?: boolean | undefined
  /** Read and check everything without changing anything: no lock, no file. */
  readonly dryRun?: boolean | undefined
  /** How many earlier versions are kept; 2 by default. */
  readonly keepVersions?: number | undefined
  readonly clock: Clock
  readonly onProgress?: OnProgress | undefined
}

export interface ListImportSummary {
  readonly name: string
  readonly path: string
  /** `none` in a dry run, which creates no file. */
  readonly version: string
  /** The version that it replaces; `null` if there was none that could be read. */
  readonly previous: string | null
  /** The as-of date of the replaced version. */
  readonly previousAsOf: Instant | undefined
  readonly dryRun: boolean
  /** Count of distinct numbers in the list. */
  readonly size: number
  /** Count of numbers that the replaced list lacks; `undefined` if there was none. */
  readonly added: number | undefined
  /** Count of numbers that only the replaced list has; `undefined` if there was none. */
  readonly removed: number | undefined
  /** Numbers read, duplicates included. */
  readonly rows: number
  /** Numbers whose day is unreadable or in the future; they are listed without a day. */
  readonly unreadDays: number
  /** Number of rows that the operator's conditions left out. */
  readonly leftOut: number
  /** Notes about cells that look like numbers but were not read. */
  readonly notes: readonly string[]
  readonly coverage: Coverage
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly sources: readonly ListSource[]
  readonly badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>
  /** First lines that were read as headers. */
  readonly headers: readonly AssumedHeader[]
  /** Area codes of listed numbers that are not in the stated coverage. */
  readonly uncoveredAreaCodes: readonly string[]
  /** Covered area codes without any number; empty if the list covers all. */
  readonly emptyAreaCodes: readonly string[]
}

/** The {@link ListImportSummary.version} of a dry run. */
export const dryRunVersion = 'none'

/**
 * Throws `AppError` for invalid options, and `DataFileError` for files that cannot be used, such as
 * truncated ones and ones without a number (see {@link ListImportOptions.areaCodes}), and for a
 * concurrent import of the same list.
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
  const { sources, rows, unreadDays, leftOut, notes, headers } = read
  const meta = { name: splitListName(name).list, previous, asOf, importedAt, coverage, sources }
  const replacement = { folder, name, keepVersions, replacedVersion: previous }
  const version = dryRun
    ? dryRunVersion
    : await replaceList(replacement, (beforeSwap) =>
        builder.write(path, { ...meta, feed }, beforeSwap),
      )
  const { maxAllowed, count, first } = badLines
  return {
    ...meta,
    name,
    path,
    version,
    dryRun,
    size,
    previousAsOf,
    added,
    removed,
    rows,
    unreadDays,
    leftOut,
    notes,
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
): Promise<SourcesSummary & Pick<ListImportSummary, 'unreadDays' | 'leftOut' | 'notes'>> {
  const { areaCodes, table } = options
  const { list: name } = splitListName(options.name)
  const isPorted = isPortedList(name)
  const readNumbers = isPorted ? readPortedNumbers : readPlainNumbers
  const wanted = { table, today: toUtcDay(importedAt) }
  const advice =
    areaCodes === undefined
      ? 'if the list is empty, name the area codes it covers with --area-codes'
      : undefined
  let [unreadDays, leftOut] = [0, 0]
  const notes: string[] = []
  const read = await readSources(options, async (source, onRow) => {
    if (isPorted) refuseWrongPortedList(source, name)
    const add = (prefix: number, line: number, day?: number) => {
      onRow()
      builder.addDigits(prefix, line, day)
    }
    const one = await readNumbers(source, add, badLines, wanted)
    if (one.rows === 0) requireRows(source, { blank: one.isBlank, what: 'number', advice })
    unreadDays += one.unreadDays
    leftOut += one.leftOut
    notes.push(...one.notes)
    return one
  })
  return { ...read, unreadDays, leftOut, notes }
}

/** Throws for a file of the other direction, which would mean the opposite. */
function refuseWrongPortedList(source: SourceFile, name: string): void {
  const named = detectPortedList(source.name)
  if (named === undefined || named === name) return
  const advice = 'import the files of each list separately'
  throw new DataFileError(
    formatSourcePath(source),
    `belongs to the list ${named}, by its name, not to ${name}; ${advice}`,
  )
}

function resolveCoverage(
  { name, areaCodes }: ListImportOptions,
  builder: NumberListBuilder,
): Coverage {
  const { list } = splitListName(name)
  const stated = areaCodes ?? (coversAllByDefault(list) ? 'all' : undefined)
  if (stated === undefined) return builder.listAreaCodes()
  return stated === 'all' ? stated : [...new Set(stated)].sort((a, b) => Number(a) - Number(b))
}
