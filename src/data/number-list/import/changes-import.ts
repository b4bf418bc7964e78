/**
 * Brings a list up to date with the change files of its registry. Rows count in the order of their
 * time stamps over all files, the later one of a number wins. Either the whole import succeeds or
 * the list stays as it was.
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
import { removeListLeftovers, replaceList, resolveListPath } from '../list-version-files.js'
import { ChangeRows } from './change-rows.js'
import { requireValidImportOptions } from './import-options.js'
import { dryRunVersion } from './list-import.js'
import { withListLock } from './list-lock.js'
import { readSources, requireRows, type SourcesSummary } from './list-sources.js'
import { mergeSources } from './source-history.js'

export interface ChangesImportOptions {
  /** The list that is changed, such as `us-dnc`. */
  readonly name: string
  /** Which importer this is, for the header of the list; `us-dnc-changes` when left out. */
  readonly feed?: string | undefined
  /** Paths of plain text, `.gz` or `.zip` files, in any order; at least one. */
  readonly files: readonly string[]
  readonly folder: string
  /** When the result is true; the time of the latest row when left out. */
  readonly asOf?: Instant | undefined
  /** Accept that days are missing between the list and the changes, or among the changes. */
  readonly allowGap?: boolean | undefined
  /** Bad lines to put up with, of all files together; none when left out. */
  readonly badLinesAllowed?: number | undefined
  /** Told of every bad line that is met. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Read and judge everything, and change nothing: no lock, no file. */
  readonly dryRun?: boolean | undefined
  /** Earlier versions that are kept; 2 when left out. */
  readonly keepVersions?: number | undefined
  readonly clock: Clock
  readonly onProgress?: OnProgress | undefined
}

export interface ChangesImportSummary {
  readonly name: string
  readonly path: string
  /** `none` in a dry run, which makes no file. */
  readonly version: string
  /** The version the changes were made to. */
  readonly previous: string
  readonly dryRun: boolean
  /** Different numbers in the list. */
  readonly size: number
  readonly rows: number
  /** Numbers the list has now and had not, and the other way round, all rows taken together. */
  readonly added: number
  readonly removed: number
  /** Rows that changed nothing: added what was there, or deleted what was not. */
  readonly unchanged: number
  /** Deletions that do not count because the list was made after them. */
  readonly outdated: number
  /** Area codes the list covers of which there is no row; none where it covers all. */
  readonly areaCodesWithoutRows: readonly string[]
  readonly asOf: Instant
  readonly importedAt: Instant
  /** The change files. */
  readonly sources: readonly ListSource[]
  readonly badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>
  /** First lines that were taken for column names, not for changes. */
  readonly headers: readonly AssumedHeader[]
}
/** A registry changes every day: a longer time without a row means that files are missing. */
const maxGapMs = msPerDay

/**
 * Throws `AppError` for options that break a rule and `DataFileError` when there is no whole list to
 * change, when a day is missing, for files that cannot be used, and for a second import of the list
 * at the same time.
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
      throw new DataFileError(path, `is not there, so there is nothing to change; ${advice} first`)
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
      ? 'if there were no changes, state with --as-of until when'
      : undefined
  return readSources(options, async (source, onRow) => {
    const onChange = (change: Parameters<ChangeRows['add']>[0]) => {
      onRow()
      rows.add(change)
    }
    // Clocks differ, and a stamp may be that of a zone ahead of UTC.
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
  const since =
    from === base.asOf ? 'up to which the list has them' : 'of which there is one in the files'
  throw new DataFileError(
    files.join(', '),
    `${missing}, more than a day: files are missing after ${formatInstant(from)}, ${since}; ` +
      'load them too, or the full list, or accept it with --allow-gap',
  )
}

/** An addition always counts; a deletion only when the list was not made after it. */
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
