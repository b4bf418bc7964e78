/**
 * Makes a fact file of downloaded files and puts it where the fact store finds it. Either the whole
 * import succeeds or the file that was there stays as it was.
 */
import { existsSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock, Instant, LocalDay } from '../../domain/clock.js'
import { DataFileError, type FieldProblem, invalidRequest } from '../../errors.js'
import { makeFolder, syncFolder } from '../../folders.js'
import {
  type FactFileInfo,
  lockForImport,
  openFactFile,
  verifyFactFile,
} from '../../storage/fact-file.js'
import {
  type FactCounts,
  type FactDifference,
  FactFileBuilder,
} from '../../storage/fact-file-builder.js'
import type { FactRow, FactSource } from '../../storage/fact-shape.js'
import { type BadLine, BadLines } from '../feeds/bad-lines.js'
import { removeLeftovers } from '../number-list/leftover-files.js'
import type { ImportProgress } from '../number-list/list-import.js'
import { type FactFeed, factFilePath } from './fact-feeds.js'
import { readFactFiles } from './read-fact-files.js'

export interface FactImportOptions {
  /** One of `factFeeds`. */
  readonly feed: FactFeed<FactRow>
  /** Paths of plain text, `.gz` or `.zip` files; at least one. */
  readonly files: readonly string[]
  readonly folder: string
  /**
   * When the content was true. Left out, it is the day a file itself states, the latest of them, or
   * else when the files were last written, the oldest of them: nothing may be taken for newer than
   * it is.
   */
  readonly asOf?: Instant | undefined
  /** Bad lines to put up with, of all files together; none when left out. */
  readonly badLinesAllowed?: number | undefined
  /** Told of every bad line that is met. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  /** Accept fewer than half the rows of the file it replaces, or none. */
  readonly allowShrink?: boolean | undefined
  /** Sources that name every number they label, so that they call all others clean. */
  readonly complete?: readonly string[] | undefined
  /** For a feed that adds up: rows that are more days old are dropped; none when left out. */
  readonly keepDays?: number | undefined
  /** Do all but put the new file in place. */
  readonly dryRun?: boolean | undefined
  readonly clock: Clock
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined
}

export interface FactImportSummary extends FactCounts {
  readonly feed: string
  readonly path: string
  /** Data rows of the files, bad ones included. */
  readonly rows: number
  /** Facts the rows gave; more than are in the file when some say the same again. */
  readonly facts: number
  /** Lines left out because they begin with `#`. */
  readonly comments: number
  /** Against the file that was in use; `undefined` when there was none that could be read. */
  readonly difference: FactDifference | undefined
  /** Rows that are right but say nothing, by reason. */
  readonly notKept: Readonly<Record<string, number>>
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly complete: readonly string[]
  readonly sources: readonly FactSource[]
  readonly badLines: Pick<BadLines, 'allowed' | 'count' | 'first'>
}

/**
 * Throws `AppError` for options that break a rule and `DataFileError` for files that cannot be
 * used, for a second import of the feed at the same time, and when a feed that adds up would be
 * added to a damaged file.
 */
export async function importFacts(options: FactImportOptions): Promise<FactImportSummary> {
  checkOptions(options)
  const { folder, feed, clock } = options
  const path = factFilePath(folder, feed.shape.feed)
  makeFolder(folder)
  const lock = lockForImport(join(folder, `.${basename(path)}.lock`))
  try {
    const importedAt = clock.now()
    removeLeftovers(path, importedAt)
    return await importAlone(options, { path, importedAt, before: inUse(path, feed) })
  } finally {
    lock.release()
  }
}

function checkOptions({ files, asOf, badLinesAllowed = 0, keepDays, clock }: FactImportOptions) {
  const problems: FieldProblem[] = []
  const rule = 'has to be a whole number, 0 or more'
  if (files.length === 0) problems.push({ field: 'files', rule: 'at least one is needed' })
  if (asOf !== undefined && !(asOf <= clock.now())) {
    problems.push({ field: 'asOf', value: String(asOf), rule: 'must not lie in the future' })
  }
  for (const [field, value] of Object.entries({ badLinesAllowed, keepDays: keepDays ?? 0 })) {
    if (!(Number.isSafeInteger(value) && value >= 0)) {
      problems.push({ field, value: String(value), rule })
    }
  }
  if (problems.length > 0) throw invalidRequest(problems)
}

interface Place {
  readonly path: string
  readonly importedAt: Instant
  /** The file in use; `undefined` when there is none that could be read. */
  readonly before: FactFileInfo | undefined
}

/** A damaged file must not stand in the way of its replacement, and nothing is added to one. */
function inUse(path: string, { shape, addsUp }: FactFeed<FactRow>): FactFileInfo | undefined {
  if (!existsSync(path)) return undefined
  try {
    const file = openFactFile(path, shape)
    file.close()
    return file.info
  } catch (cause) {
    if (!(cause instanceof DataFileError)) throw cause
    if (!addsUp) return undefined
    throw new DataFileError(path, `${cause.message}; move it away to begin anew`, cause)
  }
}

async function importAlone(options: FactImportOptions, place: Place): Promise<FactImportSummary> {
  const { feed, dryRun } = options
  const { path, importedAt, before } = place
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  const over = feed.addsUp && before ? path : undefined
  const builder = new FactFileBuilder({ path: aside, shape: feed.shape, over })
  try {
    const badLines = new BadLines(options.badLinesAllowed, options.rejects)
    const today = dayOf(importedAt)
    const read = await readFactFiles(options, { today, badLines, keep: builder.add.bind(builder) })
    const difference = mergeInto(builder, options, place)
    const counts = builder.counts()
    refuseIfShrunk(options, { counts, place })
    const asOf = Math.min(importedAt, Math.max(read.asOf, over ? (before?.asOf ?? 0) : 0))
    const complete = options.complete ?? []
    builder.finish({ asOf, importedAt, sources: read.sources, complete })
    verifyFactFile(aside, counts.entries)
    if (dryRun !== true) {
      renameSync(aside, path)
      syncFolder(dirname(path))
    }
    const { allowed, count, first } = badLines
    return {
      ...{
        feed: feed.shape.feed,
        path,
        ...counts,
        ...read,
        difference,
        asOf,
        importedAt,
        complete,
      },
      badLines: { allowed, count, first },
    }
  } finally {
    builder.discard()
  }
}

function dayOf(at: Instant): LocalDay {
  return Math.floor(at / 86_400_000)
}

function mergeInto(
  builder: FactFileBuilder<FactRow>,
  { feed, keepDays }: FactImportOptions,
  { path, importedAt, before }: Place,
): FactDifference | undefined {
  const { entries } = builder.merge()
  if (!feed.age) return before && differenceFrom(builder, path)
  const added = entries - (before?.entries ?? 0)
  const { age } = feed
  const old = age && keepDays !== undefined ? age.of(dayOf(importedAt) - keepDays) : undefined
  const removed = age && old !== undefined ? builder.removeBelow(age.column, old) : 0
  return { added, changed: 0, removed }
}

/** Damage that only now comes to light is no reason to keep the damaged file. */
function differenceFrom(
  builder: FactFileBuilder<FactRow>,
  path: string,
): FactDifference | undefined {
  try {
    return builder.differenceFrom(path)
  } catch (cause) {
    if (cause instanceof DataFileError) return undefined
    throw cause
  }
}

/** A cut-off download looks like a good file with fewer rows. */
function refuseIfShrunk(
  { feed, files, allowShrink }: FactImportOptions,
  { counts, place }: { readonly counts: FactCounts; readonly place: Place },
): void {
  const before = place.before?.entries ?? 0
  const tooFew = counts.entries === 0 || counts.entries * 2 < before
  if (feed.addsUp || allowShrink === true || !tooFew) return
  throw new DataFileError(
    files.join(', '),
    `${counts.entries} usable rows` +
      (before > 0 ? `, fewer than half the ${before} of the file in use (${place.path})` : '') +
      '; to import it all the same: --allow-shrink',
  )
}
