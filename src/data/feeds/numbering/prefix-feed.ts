/**
 * Reads the reports of the numbering administrators and similar tables: the rows they produce, the
 * count of every row, and the kinds of cells they share.
 */
import type { OriginalCarrier } from '../../../domain/place.js'
import type { Instant } from '../../../domain/time/clock.js'
import { describeProblem, type FieldProblem, isFieldProblem } from '../../../errors.js'
import { findRegionCountry } from '../../../law/area-codes.js'
import { computeReadDigest, tablePattern } from '../../files/source-file.js'
import { type OnProgress, SourceProgress } from '../../files/source-progress.js'
import type { BadLine } from '../bad-lines.js'
import { type RowReader, readTable, type TableSummary } from '../table.js'
import type { TableFormat } from '../table-layout.js'

/** The data of a report about one prefix or block. */
export interface AssignedRow {
  /** Two-letter state, territory or province. */
  readonly region: string
  /** Rate center or exchange area; empty when the report names none. */
  readonly locality: string
  /** `undefined` when the report names none. */
  readonly carrier: OriginalCarrier | undefined
}

/** A prefix in use, as listed by its administrator. */
export interface AssignedPrefix extends AssignedRow {
  /** Six digits: area code and exchange. */
  readonly prefix: string
}

/** A row that could not be used; `line` counts from 1 and includes the header. */
export interface BadRow {
  readonly line: number
  readonly reason: string
}

/** Counts for one file: `read` is `accepted` plus all of `skipped` plus the bad rows. */
export interface PrefixFeedReport {
  readonly path: string
  /** SHA-256 of the file as downloaded, in hex. */
  readonly sha256: string
  /** Day the file was created, at 00:00 UTC; `undefined` if the file does not state it. */
  readonly asOf: Instant | undefined
  readonly read: number
  readonly accepted: number
  /** Valid rows that add no prefix, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  readonly bad: readonly BadRow[]
}

export interface ReportOptions {
  readonly path: string
  /** Called for every bad row. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface PrefixFeedOptions extends ReportOptions {
  readonly onPrefix: (prefix: AssignedPrefix) => void
}

interface ReportSummary extends TableSummary {
  readonly sha256: string
  readonly bad: readonly BadRow[]
}

/**
 * Every data row is either accepted or skipped by `readRow`, or counted as bad. Throws `DataFileError`
 * for a file that is missing, of another kind, or changed while it is read.
 */
export async function readReport<Name extends string>(
  { path, rejects, onProgress }: ReportOptions,
  format: Pick<TableFormat<Name>, 'columns' | 'optional' | 'description'>,
  readRow: RowReader<Name>,
): Promise<ReportSummary> {
  const bad: BadRow[] = []
  const progress = new SourceProgress(onProgress)
  const source = await progress.openFile(path, { entryPattern: tablePattern })
  const read = await readTable({
    source,
    table: {
      ...format,
      firstOf: Object.keys(format.columns) as Name[],
      hasLooseWidth: 'more',
      mayBeCutOff: () => false,
    },
    readRow,
    onBadRow: (line, problem) => {
      bad.push({ line: line.line, reason: describeProblem(problem) })
      rejects?.(line)
    },
    onRow: progress.countRow,
  })
  return { ...read, bad, sha256: await computeReadDigest(source) }
}

/** Counts the rows of one file and detects repeated prefixes. */
export class PrefixFeedTally {
  readonly #lines = new Map<string, number>()
  readonly #skipped = new Map<string, number>()

  /** Returns a problem if the prefix occurred before; otherwise remembers it. */
  findRepeated(prefix: string, line: number): FieldProblem | undefined {
    const first = this.#lines.get(prefix)
    if (first !== undefined) {
      return { field: 'prefix', value: prefix, rule: `is a duplicate of line ${first}` }
    }
    this.#lines.set(prefix, line)
    return undefined
  }

  skip(reason: string): void {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1)
  }

  report(path: string, table: ReportSummary, asOf: Instant | undefined): PrefixFeedReport {
    const skipped = Object.fromEntries(this.#skipped)
    const left = [...this.#skipped.values()].reduce((sum, count) => sum + count, 0)
    const accepted = table.rows - left - table.bad.length
    const { sha256, rows: read, bad } = table
    return { path, sha256, asOf, read, accepted, skipped, bad }
  }
}

/** Combines area code and exchange to six digits; returns a problem if one of them is invalid. */
export function readPrefix(areaCode: string, exchange: string): string | FieldProblem {
  const rule = 'must be three digits, the first 2 to 9'
  if (!/^[2-9]\d\d$/.test(areaCode)) return { field: 'area code', value: areaCode, rule }
  if (!/^[2-9]\d\d$/.test(exchange)) return { field: 'exchange', value: exchange, rule }
  return areaCode + exchange
}

/** `MULT` means several holders, so the carrier is unknown. */
export function readCarrier(
  ocn: string,
  company: string,
): OriginalCarrier | undefined | FieldProblem {
  const code = ocn.toUpperCase()
  if (code === 'MULT' || code === '') return undefined
  if (/^[0-9A-Z]{4}$/.test(code)) return { ocn: code, company }
  return { field: 'OCN', value: ocn, rule: 'must be four letters or digits' }
}

/**
 * Parses a row of a NANPA report that is in use. The reports use `NN` for the Northern Mariana Islands,
 * and `XXXXXXXXXX` or `DIR ASST` if there is no rate center.
 */
export function readNanpaRow({
  state,
  rateCenter,
  ocn,
  company,
}: NanpaCells): AssignedRow | FieldProblem {
  const region = state === 'NN' ? 'MP' : state
  if (findRegionCountry(region) !== 'US') {
    return { field: 'State', value: state, rule: 'must be a state or territory of the US' }
  }
  const carrier = readCarrier(ocn, company)
  if (isFieldProblem(carrier)) return carrier
  const hasPlace = !/^X+$/.test(rateCenter) && rateCenter !== 'DIR ASST'
  return { region, locality: hasPlace ? rateCenter : '', carrier }
}

type NanpaCells = Readonly<Record<'state' | 'rateCenter' | 'ocn' | 'company', string>>
