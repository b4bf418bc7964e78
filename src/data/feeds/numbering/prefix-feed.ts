/**
 * Reads the reports of the numbering administrators, and tables like them: the rows they give, the
 * account of every row, and the cells they have in common.
 */
import type { OriginalCarrier } from '../../../domain/place.js'
import type { Instant } from '../../../domain/time/clock.js'
import { describeProblem, type FieldProblem } from '../../../errors.js'
import { computeReadDigest, tablePattern } from '../../files/source-file.js'
import { type OnProgress, SourceProgress } from '../../files/source-progress.js'
import { findRegionCountry } from '../../numbering/area-codes.js'
import type { BadLine } from '../bad-lines.js'
import {
  isFieldProblem,
  type RowReader,
  readTable,
  type TableFormat,
  type TableSummary,
} from '../table.js'

/** What a report says of a prefix or a block. */
export interface AssignedRow {
  /** Two-letter state, territory or province. */
  readonly region: string
  /** Rate center or exchange area; empty when the report names none. */
  readonly locality: string
  /** `undefined` when the report names none. */
  readonly carrier: OriginalCarrier | undefined
}

/** A prefix in use, as its administrator lists it. */
export interface AssignedPrefix extends AssignedRow {
  /** Six digits: area code and exchange. */
  readonly prefix: string
}

/** A row that could not be used; `line` counts from 1 and includes the header. */
export interface BadRow {
  readonly line: number
  readonly reason: string
}

/** Account of one file: `read` is `accepted` plus all of `skipped` plus the bad rows. */
export interface PrefixFeedReport {
  readonly path: string
  /** SHA-256 of the file as downloaded, in hex. */
  readonly sha256: string
  /** Day the administrator wrote the file, at 00:00 UTC; `undefined` when it does not say. */
  readonly asOf: Instant | undefined
  readonly read: number
  readonly accepted: number
  /** Valid rows that add no prefix, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  readonly bad: readonly BadRow[]
}

export interface ReportOptions {
  readonly path: string
  /** Called for every bad row when it is met. */
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
 * Every data row is either accepted by `readRow` or among the bad ones. Throws `DataFileError` for a
 * file that is missing or of another kind, and for one that changes meanwhile.
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
    table: { ...format, hasLooseWidth: true, completeRowPattern: 'any' },
    readRow,
    onBadRow: (line, problem) => {
      bad.push({ line: line.line, reason: describeProblem(problem) })
      rejects?.(line)
    },
    onRow: progress.countRow,
  })
  return { ...read, bad, sha256: await computeReadDigest(source) }
}

/** Counts the rows of one file and remembers its prefixes, of which each may come once. */
export class PrefixFeedTally {
  readonly #lines = new Map<string, number>()
  readonly #skipped = new Map<string, number>()

  /** The problem of a prefix that came before; otherwise remembers it. */
  findRepeated(prefix: string, line: number): FieldProblem | undefined {
    const first = this.#lines.get(prefix)
    if (first !== undefined) {
      return { field: 'prefix', value: prefix, rule: `appears already on line ${first}` }
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

/** Area code and exchange as six digits, or the rule one of them breaks. */
export function readPrefix(areaCode: string, exchange: string): string | FieldProblem {
  const rule = 'must be three digits, the first 2 to 9'
  if (!/^[2-9]\d\d$/.test(areaCode)) return { field: 'area code', value: areaCode, rule }
  if (!/^[2-9]\d\d$/.test(exchange)) return { field: 'exchange', value: exchange, rule }
  return areaCode + exchange
}

/** `MULT` stands for several holders, so for none we could name. */
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
 * What a NANPA report says of a row in use. It writes `NN` for the Northern Marianas, and
 * `XXXXXXXXXX` or `DIR ASST` where there is no rate center.
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
