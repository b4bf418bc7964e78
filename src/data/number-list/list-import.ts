/**
 * Makes a number list of downloaded files and puts it where the list store finds it. Either the
 * whole import succeeds or the list that was there stays as it was.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Instant } from '../../domain/clock.js'
import { DataFileError, type FieldProblem, invalidRequest } from '../../errors.js'
import { BadLines } from '../feeds/bad-lines.js'
import { openSourceFile, type SourceFile, sha256OfFile } from '../feeds/open-source-file.js'
import { readPlainNumbers } from '../feeds/plain-numbers.js'
import { areaCodePlace } from '../numbering/area-codes.js'
import { removeLeftovers } from './leftover-files.js'
import { isListName, listNameRule, speaksForAll } from './list-names.js'
import { openNumberList } from './number-list.js'
import { NumberListBuilder } from './number-list-builder.js'
import {
  type Coverage,
  isAreaCode,
  type ListSource,
  numberListExtension,
} from './number-list-format.js'

export interface ListImportOptions {
  /** A name {@link isListName} accepts, such as `us-dnc`. */
  readonly name: string
  /** Paths of plain text, `.gz` or `.zip` files; at least one. */
  readonly files: readonly string[]
  /** Where the list goes, as `<name>.cglist`. */
  readonly folder: string
  /** When the content was true; the newest modification time of the files when left out. */
  readonly asOf?: Instant | undefined
  /**
   * What the list speaks for: area codes, or `all`. Left out, it is `all` for `litigators` and for
   * state lists, and for any other name the area codes that occur. A registry bought by area code
   * should name them: one without an entry would go uncovered. Files without a line of data are
   * accepted only when it is stated.
   */
  readonly areaCodes?: Coverage | undefined
  /** Bad lines to put up with, of all files together; none when left out. */
  readonly badLinesAllowed?: number | undefined
  /** Accept fewer than half the numbers of the list it replaces. */
  readonly allowShrink?: boolean | undefined
  readonly clock: Clock
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined
}

export interface ImportProgress {
  /** Of the files on disk, all together. */
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rows: number
}

export interface ListImportSummary {
  readonly name: string
  readonly path: string
  readonly version: string
  /** Different numbers in the list. */
  readonly size: number
  /** Numbers read, duplicates included. */
  readonly rows: number
  readonly coverage: Coverage
  readonly asOf: Instant
  readonly importedAt: Instant
  readonly sources: readonly ListSource[]
  readonly badLines: Pick<BadLines, 'allowed' | 'count' | 'first'>
  /** Area codes that numbers of the list have and the stated coverage lacks. */
  readonly uncovered: readonly string[]
}

/**
 * Throws `AppError` for options that break a rule and `DataFileError` for files that cannot be
 * used, among them cut-off ones and ones without a number (see {@link ListImportOptions}).
 */
export async function importList(options: ListImportOptions): Promise<ListImportSummary> {
  checkOptions(options)
  const { name, folder, clock } = options
  const importedAt = clock.now()
  const path = join(folder, `${name}${numberListExtension}`)
  removeLeftovers(path, importedAt)
  const sizeBefore = sizeInUse(path)
  const builder = new NumberListBuilder()
  const badLines = new BadLines(options.badLinesAllowed)
  const { sources, newest } = await readFiles(options, builder, badLines)
  refuseIfShrunk(options, { path, size: builder.size, sizeBefore })
  const coverage = coverageOf(options, builder)
  const asOf = options.asOf ?? Math.min(newest, importedAt)
  const meta = { name, asOf, importedAt, coverage, sources }
  const version = await builder.write(path, meta)
  const { size } = builder
  const rows = sources.reduce((sum, source) => sum + source.rows, 0)
  const { allowed, count, first } = badLines
  return {
    ...{ name, path, version, size, rows, coverage, asOf, importedAt, sources },
    badLines: { allowed, count, first },
    uncovered: uncoveredIn(builder, coverage),
  }
}

function uncoveredIn(builder: NumberListBuilder, coverage: Coverage): readonly string[] {
  if (coverage === 'all') return []
  return builder.areaCodes().filter((areaCode) => !coverage.includes(areaCode))
}

function checkOptions(options: ListImportOptions): void {
  const { name, files, asOf, areaCodes, badLinesAllowed = 0, clock } = options
  const problems: FieldProblem[] = []
  if (!isListName(name)) problems.push({ field: 'name', value: name, rule: listNameRule(name) })
  if (files.length === 0) problems.push({ field: 'files', rule: 'at least one is needed' })
  if (asOf !== undefined && !(asOf <= clock.now())) {
    problems.push({ field: 'asOf', value: String(asOf), rule: 'must not lie in the future' })
  }
  if (!(Number.isSafeInteger(badLinesAllowed) && badLinesAllowed >= 0)) {
    const value = String(badLinesAllowed)
    problems.push({ field: 'badLinesAllowed', value, rule: 'has to be a whole number, 0 or more' })
  }
  problems.push(...areaCodeProblems(areaCodes))
  if (problems.length > 0) throw invalidRequest(problems)
}

function areaCodeProblems(areaCodes: Coverage | undefined): FieldProblem[] {
  if (areaCodes === undefined || areaCodes === 'all') return []
  if (areaCodes.length === 0) return [{ field: 'areaCodes', rule: 'at least one is needed' }]
  const rule = 'is no area code of the US or Canada in service'
  const wrong = areaCodes.filter((code) => !isAreaCode(code) || !areaCodePlace(code))
  return wrong.map((value) => ({ field: 'areaCodes', value, rule }))
}

interface ReadResult {
  readonly sources: readonly ListSource[]
  readonly newest: Instant
}

async function readFiles(
  { files, areaCodes, onProgress }: ListImportOptions,
  builder: NumberListBuilder,
  badLines: BadLines,
): Promise<ReadResult> {
  const progress = { bytesDone: 0, bytesTotal: 0, rows: 0 }
  const opened: SourceFile[] = []
  for (const path of files) {
    let before = 0
    const onBytes = (done: number) => {
      progress.bytesDone += done - before
      before = done
      onProgress?.({ ...progress })
    }
    opened.push(await openSourceFile(path, { onBytes }))
  }
  progress.bytesTotal = opened.reduce((sum, { bytesTotal }) => sum + bytesTotal, 0)
  const sources: ListSource[] = []
  for (const source of opened) {
    const add = (prefix: number, line: number) => {
      progress.rows += 1
      builder.addDigits(prefix, line)
    }
    const { rows, blank } = await readPlainNumbers(source, add, badLines)
    if (rows === 0) refuseWithoutNumber(source, { blank, stated: areaCodes !== undefined })
    sources.push({ file: source.name, sha256: await digestOf(source), rows })
  }
  onProgress?.({ ...progress })
  return { sources, newest: Math.max(...opened.map(({ modifiedAt }) => modifiedAt)) }
}

/** A file that is still being downloaded must not become a list that looks whole. */
async function digestOf({ path, bytesTotal, modifiedAt }: SourceFile): Promise<string> {
  const digest = await sha256OfFile(path)
  const now = await stat(path)
  if (now.size !== bytesTotal || Math.trunc(now.mtimeMs) !== modifiedAt) {
    throw new DataFileError(path, 'changed while it was being read; nothing was imported')
  }
  return digest
}

/** What a failed download leaves, an error text or nothing at all, must not pass for "no numbers". */
function refuseWithoutNumber(
  { path }: SourceFile,
  { blank, stated }: { readonly blank: boolean; readonly stated: boolean },
): void {
  if (!blank) {
    const rule = 'an empty list is a file with nothing but blank lines and # comments'
    throw new DataFileError(path, `has lines but no number in it; ${rule}`)
  }
  if (!stated) {
    const advice = 'state with --area-codes which area codes an empty list covers'
    throw new DataFileError(path, `has no number in it; ${advice}`)
  }
}

/** A damaged list must not stand in the way of its replacement. */
function sizeInUse(path: string): number {
  try {
    return openNumberList(path).size
  } catch (cause) {
    const missing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    if (missing || cause instanceof DataFileError) return 0
    throw cause
  }
}

interface Sizes {
  readonly path: string
  readonly size: number
  readonly sizeBefore: number
}

/** A cut-off download looks like a good file with fewer numbers. */
function refuseIfShrunk(
  { files, allowShrink }: ListImportOptions,
  { path, size, sizeBefore }: Sizes,
): void {
  if (allowShrink === true || size * 2 >= sizeBefore) return
  throw new DataFileError(
    files.join(', '),
    `${size} different numbers, fewer than half the ${sizeBefore} of the list in use (${path}); ` +
      'to import it all the same: --allow-shrink',
  )
}

function coverageOf({ name, areaCodes }: ListImportOptions, builder: NumberListBuilder): Coverage {
  const stated = areaCodes ?? (speaksForAll(name) ? 'all' : undefined)
  if (stated === undefined) return builder.areaCodes()
  return stated === 'all' ? stated : [...new Set(stated)].sort((a, b) => Number(a) - Number(b))
}
