/**
 * Updates a list with the change files of its registry. The rows of all files are applied in the order
 * of their timestamps, so the latest row for a number applies. Either the whole import succeeds or the
 * list is unchanged.
 */
import type { Clock, Instant } from '../../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../../domain/time/dates.js'
import { DataFileError, getErrorCode, invalidRequest } from '../../../errors.js'
import { type BadLine, BadLines } from '../../feeds/bad-lines.js'
import type { AssumedHeader } from '../../feeds/lists/number-lines.js'
import { readUsDncChanges } from '../../feeds/lists/us-dnc-changes.js'
import type { OnProgress } from '../../files/source-progress.js'
import { type NumberList, openNumberList } from '../format/number-list.js'
import { NumberListEditor } from '../format/number-list-editor.js'
import type { ListSource } from '../format/number-list-format.js'
import { splitListName } from '../list-names.js'
import { resolveListPath } from '../list-paths.js'
import { removeListLeftovers, replaceList } from '../list-version-files.js'
import { ChangeRows } from './change-rows.js'
import { requireValidImportOptions } from './import-options.js'
import { dryRunVersion } from './list-import.js'
import { withListLock } from './list-lock.js'
import { readSources, requireRows, type SourcesSummary } from './list-sources.js'
import { mergeSources } from './source-history.js'

export interface ChangesImportOptions {
  /** The list to change, by its name among those of all accounts, such as `us-dnc`. */
  readonly name: string
  /** Name of the importer, for the header of the list; default `us-dnc-changes`. */
  readonly feed?: string | undefined
  /** Paths of plain text, `.gz` or `.zip` files, in any order; at least one. */
  readonly files: readonly string[]
  readonly folder: string
  /** The date of the result; by default the time of the latest row. */
  readonly asOf?: Instant | undefined
  /** Accept that days are missing between the list and the changes, or among the changes. */
  readonly allowGap?: boolean | undefined
  /** Maximum bad lines of all files together; none by default. */
  readonly badLinesAllowed?: number | undefined
  /** Called for every bad line. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Read and check everything without changing anything: no lock, no file. */
  readonly dryRun?: boolean | undefined
  /** How many earlier versions are kept; 2 by default. */
  readonly keepVersions?: number | undefined
  readonly clock: Clock
  readonly onProgress?: OnProgress | undefined
}

export interface ChangesImportSummary {
  readonly name: string
  readonly path: string
  /** `none` in a dry run, which creates no file. */
  readonly version: string
  /** The version that the changes were applied to. */
  readonly previous: string
  readonly dryRun: boolean
  /** Count of distinct numbers in the list. */
  readonly size: number
  readonly rows: number
  /** Net count of numbers added by all rows together; `removed` is the opposite. */
  readonly added: number
  readonly removed: number
  /** Rows that changed nothing: they added a listed number or deleted an unlisted one. */
  readonly unchanged: number
  /** Deletions that are ignored since the list is newer. */
  readonly outdated: number
  /** Covered area codes without any row; empty if the list covers all. */
  readonly areaCodesWithoutRows: readonly string[]
  readonly asOf: Instant
  readonly importedAt: Instant
  /** The change files. */
  readonly sources: readonly ListSource[]
  readonly badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>
  /** First lines that were read as headers. */
  readonly headers: readonly AssumedHeader[]
}
/** A registry changes every day, so a longer period without a row means that files are missing. */
const maxGapMs = msPerDay

/**
 * Throws `AppError` for invalid options, and `DataFileError` if there is no intact list to change, if a
 * day is missing, for files that cannot be used, and for a concurrent import of the same list.
 */
export async function importChanges(options: ChangesImportOptions): Promise<ChangesImportSummary> {
  requireValidImportOptions(options)
  const { name, folder, clock } = options
  if (options.dryRun) return importLocked(options)
  return withListLock(folder, name, clock, () => {
    removeListLeftovers(folder, name, clock.now())
    return importLocked(options)
  })
}

async function importLocked(options: ChangesImportOptions): Promise<ChangesImportSummary> {
  const { name, folder, clock, dryRun = false, feed = 'us-dnc-changes' } = options
  const importedAt = clock.now()
  const path = resolveListPath(folder, name)
  const base = openListToChange(path)
  requireNewerAsOf(options, base)
  const rows = new ChangeRows()
  const badLines = new BadLines(options.badLinesAllowed, options.rejects)
  const { sources, headers } = await readFiles(options, { base, rows, badLines, importedAt })
  if (options.allowGap !== true) refuseGap(options, base, rows)
  const editor = new NumberListEditor(base)
  const applied = applyChanges(editor, base, rows)
  const asOf = options.asOf ?? Math.min(importedAt, Math.max(base.asOf, applied.latest))
  const known = { name, previous: base.version, asOf, importedAt }
  const meta = {
    ...known,
    name: splitListName(name).list,
    feed,
    coverage: base.coverage,
    sources: mergeSources(base.sources, sources),
  }
  const swap = { folder, name, keepVersions: options.keepVersions, replacedVersion: base.version }
  const version = dryRun
    ? dryRunVersion
    : await replaceList(swap, (beforeSwap) => editor.write(path, meta, beforeSwap))
  const { size, added, removed } = editor
  const { unchanged, outdated } = applied
  const { maxAllowed, count, first } = badLines
  return {
    ...known,
    path,
    version,
    dryRun,
    size,
    rows: rows.count,
    added,
    removed,
    areaCodesWithoutRows: findAreaCodesWithoutRows(base, rows),
    unchanged,
    outdated,
    sources,
    badLines: { maxAllowed, count, first },
    headers,
  }
}

function findAreaCodesWithoutRows({ coverage }: NumberList, rows: ChangeRows): readonly string[] {
  return coverage === 'all' ? [] : coverage.filter((areaCode) => !rows.hasAreaCode(areaCode))
}

function openListToChange(path: string): NumberList {
  const advice = 'import the full list'
  try {
    return openNumberList(path)
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') {
      throw new DataFileError(
        path,
        `does not exist, so there is nothing to change; ${advice} first`,
      )
    }
    if (!(cause instanceof DataFileError)) throw cause
    throw new DataFileError(path, `cannot be changed; ${advice}: ${cause.message}`, cause)
  }
}

function requireNewerAsOf({ asOf }: ChangesImportOptions, base: NumberList): void {
  if (asOf === undefined || asOf >= base.asOf) return
  const rule = `must not be before that of the list, ${formatInstant(base.asOf)}`
  throw invalidRequest([{ field: 'asOf', value: formatInstant(asOf), rule }])
}

interface ChangeReadTarget {
  readonly base: NumberList
  readonly rows: ChangeRows
  readonly badLines: BadLines
  readonly importedAt: Instant
}

function readFiles(
  options: ChangesImportOptions,
  { base, rows, badLines, importedAt }: ChangeReadTarget,
): Promise<SourcesSummary> {
  const { coverage } = base
  const covered = new Set(coverage === 'all' ? [] : coverage.map(Number))
  const covers = (areaCode: number) => coverage === 'all' || covered.has(areaCode)
  const advice =
    options.asOf === undefined
      ? 'if there were no changes, give the date up to which that is true with --as-of'
      : undefined
  return readSources(options, async (source, onRow) => {
    const onChange = (change: Parameters<ChangeRows['add']>[0]) => {
      onRow()
      rows.add(change)
    }
    // Allows for clock differences and for timestamps in a zone ahead of UTC.
    const wanted = { onRow: onChange, covers, maxInstant: importedAt + msPerDay }
    const read = await readUsDncChanges(source, wanted, badLines)
    if (read.rows === 0) requireRows(source, { blank: read.isBlank, what: 'change', advice })
    return read
  })
}

function refuseGap({ files }: ChangesImportOptions, base: NumberList, rows: ChangeRows): void {
  const { from, to } = rows.findLongestGap(base.asOf)
  if (to - from <= maxGapMs) return
  const missing = `no change between ${formatInstant(from)} and ${formatInstant(to)}`
  const since = from === base.asOf ? 'the date of the list' : 'the time of a change in the files'
  throw new DataFileError(
    files.join(', '),
    `${missing}, more than a day: files are missing after ${formatInstant(from)}, ${since}; ` +
      'import them too, or the full list, or accept the gap with --allow-gap',
  )
}

/** Additions are always applied; deletions only if the list is not newer. */
function applyChanges(editor: NumberListEditor, base: NumberList, rows: ChangeRows) {
  const counted = { unchanged: 0, outdated: 0, latest: Number.NEGATIVE_INFINITY }
  rows.forEachInTimeOrder(({ prefix, line, at, isAdded }) => {
    counted.latest = at
    if (!isAdded && at < base.asOf) {
      counted.outdated += 1
      return
    }
    const isChange = isAdded ? editor.add(prefix, line) : editor.remove(prefix, line)
    if (!isChange) counted.unchanged += 1
  })
  return counted
}
