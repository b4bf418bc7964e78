/**
 * Builds a fact file from downloaded files and puts it into the folder of the fact store. Either the
 * whole import succeeds or the previous file is unchanged.
 */
import { basename, dirname, join } from 'node:path'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Clock, Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../domain/time/dates.js'
import { DataFileError, type FieldProblem, invalidRequest } from '../../errors.js'
import { ensureFolder, isPresent, moveIntoPlace } from '../../runtime/folders.js'
import {
  type FactFileInfo,
  lockFactFile,
  openFactFile,
  verifyFactFile,
} from '../../storage/facts/fact-file.js'
import {
  type FactCounts,
  type FactDifference,
  FactFileBuilder,
} from '../../storage/facts/fact-file-builder.js'
import type { FactRow, FactSourceFile } from '../../storage/facts/fact-file-schema.js'
import { type BadLine, BadLines } from '../feeds/bad-lines.js'
import type { TableOptions } from '../feeds/table-layout.js'
import { removeLeftovers } from '../files/leftover-files.js'
import { computeReadDigest, type SourceFile } from '../files/source-file.js'
import { type OnProgress, SourceProgress } from '../files/source-progress.js'
import { type FactFeed, resolveFactFilePath } from './fact-feeds.js'

export interface FactImportOptions {
  readonly folder: string
  /** One of `factFeeds`. */
  readonly feed: FactFeed<FactRow>
  /** Paths of plain text, `.gz` or `.zip` files; at least one. */
  readonly files: readonly string[]
  /**
   * The date of the content. By default the latest day stated by a file itself, otherwise the oldest
   * modification time, since data must never be treated as newer than it is.
   */
  readonly asOf?: Instant | undefined
  readonly onProgress?: OnProgress | undefined
  readonly table?: TableOptions | undefined
  /** Maximum bad lines of all files together; none by default. */
  readonly badLinesAllowed?: number | undefined
  /** Called for every bad line. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Accept a file with no rows, or with fewer than half the rows of the one it replaces. */
  readonly allowShrink?: boolean | undefined
  /** Sources whose labels are complete in the file, so that all other numbers are clean. */
  readonly complete?: readonly string[] | undefined
  /** For a cumulative feed: maximum age of rows in days; older ones are dropped. By default, none are. */
  readonly keepDays?: number | undefined
  /** Do everything except replacing the file. */
  readonly dryRun?: boolean | undefined
  readonly clock: Clock
}

/** Counts of what was read from the files. */
interface FactFilesSummary {
  /** Data rows of the files, bad ones included. */
  readonly rows: number
  /** Facts in the rows, including repeated ones, which the result contains once. */
  readonly facts: number
  /** Lines left out because they begin with `#`. */
  readonly comments: number
  /** Valid rows without a fact, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Notes about cells that look like numbers but were not read. */
  readonly notes: readonly string[]
  readonly sources: readonly FactSourceFile[]
  readonly asOf: Instant
}

export interface FactImportSummary extends FactCounts, FactFilesSummary {
  readonly feed: string
  readonly path: string
  /** Difference from the previous file; `undefined` if there was none that could be read. */
  readonly difference: FactDifference | undefined
  readonly importedAt: Instant
  readonly completeSources: readonly string[]
  readonly badLines: Pick<BadLines, 'maxAllowed' | 'count' | 'first'>
}

/**
 * Throws `AppError` for invalid options, and `DataFileError` for files that cannot be used, for a
 * concurrent import of the same feed, and if a cumulative feed would be added to a damaged file.
 */
export async function importFacts(options: FactImportOptions): Promise<FactImportSummary> {
  requireValidOptions(options)
  const { folder, feed, clock } = options
  const path = resolveFactFilePath(folder, feed.shape.feed)
  ensureFolder(folder)
  const lock = lockFactFile(join(folder, `.${basename(path)}.lock`))
  try {
    const importedAt = clock.now()
    removeLeftovers(path, importedAt)
    return await importLocked(options, { path, importedAt, current: readCurrentInfo(path, feed) })
  } finally {
    lock.release()
  }
}

function requireValidOptions(options: FactImportOptions): void {
  const { files, asOf, badLinesAllowed = 0, keepDays = 0, clock } = options
  const problems: FieldProblem[] = []
  const rule = 'must be a whole number, 0 or more'
  if (files.length === 0) problems.push({ field: 'files', rule: 'at least one is needed' })
  if (asOf !== undefined && !(asOf <= clock.now())) {
    problems.push({ field: 'asOf', value: String(asOf), rule: 'must not be in the future' })
  }
  for (const [field, value] of Object.entries({ badLinesAllowed, keepDays })) {
    if (!(Number.isSafeInteger(value) && value >= 0)) {
      problems.push({ field, value: String(value), rule })
    }
  }
  if (problems.length > 0) throw invalidRequest(problems)
}

interface ImportTarget {
  readonly path: string
  readonly importedAt: Instant
  /** The file in use; `undefined` if there is none that could be read. */
  readonly current: FactFileInfo | undefined
}

/** A damaged file does not prevent its replacement, but a cumulative feed cannot be added to it. */
function readCurrentInfo(
  path: string,
  { shape, isCumulative }: FactFeed<FactRow>,
): FactFileInfo | undefined {
  if (!isPresent(path)) return undefined
  try {
    const file = openFactFile(path, shape)
    file.close()
    return file.info
  } catch (cause) {
    if (!(cause instanceof DataFileError)) throw cause
    if (!isCumulative) return undefined
    throw new DataFileError(path, `${cause.message}; move the file away to start over`, cause)
  }
}

async function importLocked(
  options: FactImportOptions,
  place: ImportTarget,
): Promise<FactImportSummary> {
  const { feed, dryRun } = options
  const { path, importedAt, current } = place
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  const basePath = feed.isCumulative && current ? path : undefined
  const builder = new FactFileBuilder({ path: aside, shape: feed.shape, basePath })
  try {
    const badLines = new BadLines(options.badLinesAllowed, options.rejects)
    const read = await readFactFiles(options, { builder, badLines, importedAt })
    const difference = mergeIntoBuilder(builder, options, place)
    const counts = builder.counts()
    refuseShrunkFeed(options, { counts, place })
    const asOf = Math.min(importedAt, Math.max(read.asOf, basePath ? (current?.asOf ?? 0) : 0))
    const completeSources = options.complete ?? []
    builder.finish({ asOf, importedAt, sources: read.sources, complete: completeSources })
    verifyFactFile(aside, counts.entries)
    if (dryRun !== true) moveIntoPlace(aside, path)
    const { maxAllowed, count, first } = badLines
    return {
      feed: feed.shape.feed,
      path,
      ...counts,
      ...read,
      difference,
      asOf,
      importedAt,
      completeSources,
      badLines: { maxAllowed, count, first },
    }
  } finally {
    builder.discard()
  }
}

interface ReadTarget {
  readonly builder: FactFileBuilder<FactRow>
  readonly badLines: BadLines
  readonly importedAt: Instant
}

/** Reads the files one after the other. Throws the errors of the feed's reader. */
async function readFactFiles(
  options: FactImportOptions,
  { builder, badLines, importedAt }: ReadTarget,
): Promise<FactFilesSummary> {
  const progress = new SourceProgress(options.onProgress)
  const opened: SourceFile[] = []
  for (const path of options.files) opened.push(await progress.openFile(path))
  const skipped: Record<string, number> = {}
  let facts = 0
  let comments = 0
  const shared = {
    today: toUtcDay(importedAt),
    badLines,
    options: options.table,
    statedDay: options.asOf === undefined ? undefined : toUtcDay(options.asOf),
    keep: (number: PhoneNumber, fact: FactRow) => {
      facts += 1
      builder.add(number, fact)
    },
    skip: (reason: string) => {
      skipped[reason] = (skipped[reason] ?? 0) + 1
    },
    onRow: progress.countRow,
  }
  const sources: FactSourceFile[] = []
  const days: LocalDay[] = []
  const notes: string[] = []
  for (const source of opened) {
    const { rows, day, ...read } = await options.feed.read({ ...shared, source })
    comments += read.comments
    notes.push(...read.notes)
    if (read.leftOut > 0) {
      const reason = 'left out by --where'
      skipped[reason] = (skipped[reason] ?? 0) + read.leftOut
    }
    if (day !== undefined) days.push(day)
    const asOf = day === undefined ? (options.asOf ?? source.modifiedAt) : day * msPerDay
    sources.push({ file: source.name, sha256: await computeReadDigest(source), rows, asOf })
  }
  progress.report()
  const oldest = Math.min(...opened.map(({ modifiedAt }) => modifiedAt))
  const own = days.length > 0 ? Math.max(...days) * msPerDay : oldest
  return {
    ...{ rows: progress.rows, facts, comments, skipped, notes, sources },
    asOf: options.asOf ?? own,
  }
}

function mergeIntoBuilder(
  builder: FactFileBuilder<FactRow>,
  { feed, keepDays }: FactImportOptions,
  { path, importedAt, current }: ImportTarget,
): FactDifference | undefined {
  const { entries } = builder.merge()
  const { age } = feed
  if (!age) return current && computeDifference(builder, path)
  const added = entries - (current?.entries ?? 0)
  if (keepDays === undefined) return { added, changed: 0, removed: 0 }
  const removed = builder.removeBelow(age.column, age.of(toUtcDay(importedAt) - keepDays))
  return { added, changed: 0, removed }
}

/** `undefined` if the previous file turns out to be damaged, which is no reason to keep it. */
function computeDifference(
  builder: FactFileBuilder<FactRow>,
  path: string,
): FactDifference | undefined {
  try {
    return builder.computeDifference(path)
  } catch (cause) {
    if (cause instanceof DataFileError) return undefined
    throw cause
  }
}

/** Throws for far fewer rows than before, since a truncated download looks like a valid smaller file. */
function refuseShrunkFeed(
  { feed, files, allowShrink }: FactImportOptions,
  { counts, place }: { readonly counts: FactCounts; readonly place: ImportTarget },
): void {
  const before = place.current?.entries ?? 0
  const tooFew = counts.entries === 0 || counts.entries * 2 < before
  if (feed.isCumulative || allowShrink === true || !tooFew) return
  throw new DataFileError(
    files.join(', '),
    `${counts.entries} usable rows` +
      (before > 0 ? `, fewer than half the ${before} of the file in use (${place.path})` : '') +
      '; to import it anyway, use --allow-shrink',
  )
}
