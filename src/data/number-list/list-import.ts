/**
 * Makes a number list of downloaded files and puts it where the list store finds it. Either the
 * whole import succeeds or the list that was there stays as it was.
 */
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock, Instant } from '../../domain/clock.js'
import { DataFileError, type FieldProblem, invalidRequest } from '../../errors.js'
import { type BadLine, BadLines } from '../feeds/bad-lines.js'
import { openSourceFile, type SourceFile, sha256OfFile } from '../feeds/open-source-file.js'
import { readPlainNumbers } from '../feeds/plain-numbers.js'
import { NumberListBuilder } from './number-list-builder.js'
import {
  type Coverage,
  isAreaCode,
  type ListSource,
  numberListExtension,
} from './number-list-format.js'

export interface ListImportOptions {
  /** Lower case letters and digits in groups joined by hyphens, such as `us-dnc`. */
  readonly name: string
  /** Paths of plain text, `.gz` or `.zip` files; at least one. */
  readonly files: readonly string[]
  /** Where the list goes, as `<name>.cglist`. */
  readonly folder: string
  /** When the content was true; the newest modification time of the files when left out. */
  readonly asOf?: Instant | undefined
  /**
   * What the list speaks for: area codes, or `all`. Left out, it is `all` for `litigators` and for
   * names that begin with `state-dnc-`, and for any other name the area codes that occur.
   * A registry bought by area code should name them: one without an entry would go uncovered.
   */
  readonly areaCodes?: Coverage | undefined
  /** Bad lines to put up with, in place of the limits of {@link BadLines}. */
  readonly badLinesAllowed?: number | undefined
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
  readonly badLines: { readonly count: number; readonly first: readonly BadLine[] }
}

/**
 * Throws `AppError` for options that break a rule and `DataFileError` for files that cannot be
 * used, among them files without any number unless the coverage is stated.
 */
export async function importList(options: ListImportOptions): Promise<ListImportSummary> {
  checkOptions(options)
  const { name, folder, clock } = options
  const importedAt = clock.now()
  const builder = new NumberListBuilder()
  const badLines = new BadLines(options.badLinesAllowed)
  const { sources, newest } = await readFiles(options, builder, badLines)
  const coverage = coverageOf(options, builder, badLines)
  const asOf = options.asOf ?? Math.min(newest, importedAt)
  const path = join(folder, `${name}${numberListExtension}`)
  const meta = { name, asOf, importedAt, coverage, sources }
  const version = await builder.write(path, meta)
  const { size } = builder
  const rows = sources.reduce((sum, source) => sum + source.rows, 0)
  return {
    ...{ name, path, version, size, rows, coverage, asOf, importedAt, sources },
    badLines: { count: badLines.count, first: badLines.first },
  }
}

const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const longestName = 60

/** Whether text may be the name of a list, and so the name of its file. */
export function isListName(text: string): boolean {
  return namePattern.test(text) && text.length <= longestName
}

function checkOptions({ name, files, asOf, areaCodes, clock }: ListImportOptions): void {
  const problems: FieldProblem[] = []
  if (!isListName(name)) {
    const rule = `has to be lower case letters, digits and hyphens, at most ${longestName}`
    problems.push({ field: 'name', value: name, rule })
  }
  if (files.length === 0) problems.push({ field: 'files', rule: 'at least one is needed' })
  if (asOf !== undefined && !(asOf <= clock.now())) {
    problems.push({ field: 'asOf', value: String(asOf), rule: 'must not lie in the future' })
  }
  problems.push(...areaCodeProblems(areaCodes))
  if (problems.length > 0) throw invalidRequest(problems)
}

function areaCodeProblems(areaCodes: Coverage | undefined): FieldProblem[] {
  if (areaCodes === undefined || areaCodes === 'all') return []
  if (areaCodes.length === 0) return [{ field: 'areaCodes', rule: 'at least one is needed' }]
  const rule = 'has to be three digits, the first 2 to 9'
  const wrong = areaCodes.filter((areaCode) => !isAreaCode(areaCode))
  return wrong.map((value) => ({ field: 'areaCodes', value, rule }))
}

interface ReadResult {
  readonly sources: readonly ListSource[]
  readonly newest: Instant
}

async function readFiles(
  { files, onProgress }: ListImportOptions,
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
    const rows = await readPlainNumbers(source, add, badLines)
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

function coverageOf(
  { name, areaCodes, files }: ListImportOptions,
  builder: NumberListBuilder,
  badLines: BadLines,
): Coverage {
  const stated = areaCodes ?? (speaksForAll(name) ? 'all' : undefined)
  if (builder.size === 0 && (stated === undefined || badLines.count > 0)) {
    const where = files.map((file) => basename(file)).join(', ')
    throw new DataFileError(where, 'no number in it; say which area codes an empty list covers')
  }
  if (stated === undefined) return builder.areaCodes()
  return stated === 'all' ? stated : [...new Set(stated)].sort((a, b) => Number(a) - Number(b))
}

function speaksForAll(name: string): boolean {
  return name === 'litigators' || name.startsWith('state-dnc-')
}
