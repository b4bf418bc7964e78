/**
 * Reads lists of telephone numbers: one ten-digit number per line or first CSV column, or the
 * `AAA,NNNNNNN` of the US registry's flat files. With a header, the number may be in any column with a
 * suitable name and have the usual punctuation, and another column may give its day.
 */

import type { LocalDay } from '../../../domain/time/clock.js'
import { DataFileError } from '../../../errors.js'
import { formatSourcePath } from '../../files/source-file.js'
import { newline } from '../../files/text-lines.js'
import type { BadLines } from '../bad-lines.js'
import { findColumns, type NumberColumnNames, NumberRows } from './number-columns.js'
import {
  carriageReturn,
  comma,
  hasHeaderDigits,
  headerRule,
  isHeaderLike,
  isTruncatedNumber,
  type LineFormat,
  type NumberLinesSummary,
  type NumberSource,
  parseDigits,
  quote,
  readNumberLines,
} from './number-lines.js'

/** Receives each number as its first six and last four digits, with its day if there is one. */
export type NumberSink = (prefix: number, line: number, day?: LocalDay) => void

export interface PlainNumbersOptions extends NumberColumnNames {
  /** The day of the import, in UTC. */
  readonly today?: LocalDay | undefined
}

/**
 * Passes the numbers of a source, including duplicates, to `sink`. Throws {@link DataFileError} for a
 * web page, for a file that ends in the middle of a number, for one without a requested column, and for
 * too many bad lines; the caller must then discard what `sink` received.
 */
export function readPlainNumbers(
  source: NumberSource,
  sink: NumberSink,
  badLines: BadLines,
  options: PlainNumbersOptions = {},
): Promise<NumberLinesSummary> {
  return readNumberLines(source, new PlainNumbersFormat(source, sink, options), badLines)
}

class PlainNumbersFormat implements LineFormat {
  readonly #source: NumberSource
  readonly #sink: NumberSink
  readonly #options: PlainNumbersOptions
  /** Set if a header names the number column; reads rows that are not in the plain form. */
  #table: NumberRows | undefined
  #isFirstColumn = true
  /** Whether lines have the number first and no day, so that the fast path applies. */
  #isPlain: boolean
  rows = 0
  unreadDays = 0

  constructor(source: NumberSource, sink: NumberSink, options: PlainNumbersOptions) {
    this.#source = source
    this.#sink = sink
    this.#options = options
    this.#isPlain = options.column === undefined && options.dayColumn === undefined
  }

  parseFast(bytes: Buffer, start: number): number {
    if (!this.#isPlain) return 0
    const areaCode = parseDigits(bytes, start, 3)
    const exchangeAt = bytes[start + 3] === comma ? start + 4 : start + 3
    const exchange = parseDigits(bytes, exchangeAt, 3)
    const line = parseDigits(bytes, exchangeAt + 3, 4)
    if (areaCode < 200 || exchange < 200 || line < 0) return 0
    const end = findLineEnd(bytes, exchangeAt + 7)
    if (end === 0) return 0
    this.rows += 1
    this.#sink(areaCode * 1000 + exchange, line)
    return end
  }

  parseLine(line: string, isFirst: boolean): string | undefined {
    if (isFirst && this.#isHeader(line)) return undefined
    if (changePattern.test(line)) return changeRule
    const found = this.#isFirstColumn ? numberPattern.exec(line) : null
    if (this.#table && !(found && this.#isPlain)) {
      const rule = this.#readRow(this.#table, line)
      if (rule === undefined || !found) return rule
    }
    return found ? this.#readFound(found) : shapeRule
  }

  isTruncated(line: string): boolean {
    if (!this.#isFirstColumn) return true
    return this.#table ? mayBeNumber.test(line) : isTruncatedNumber(line)
  }

  /** If columns are requested, the first line must be a header that contains them. */
  #isHeader(line: string): boolean {
    const isRequested = !this.#isPlain
    if (line.startsWith('<') || (!isRequested && !hasHeaderDigits(line))) return false
    const columns = findColumns(line, this.#options)
    if (typeof columns === 'string') {
      if (!isRequested && !isHeaderLike(line)) return false
      throw new DataFileError(formatSourcePath(this.#source), `its first line ${columns}`)
    }
    if (isRequested && !hasHeaderDigits(line)) {
      throw new DataFileError(
        formatSourcePath(this.#source),
        `its first line is not a header: ${headerRule}`,
      )
    }
    if (!columns) return isHeaderLike(line)
    this.#table = new NumberRows(columns, this.#options.today)
    this.#isFirstColumn = columns.number === 0
    this.#isPlain = this.#isFirstColumn && columns.day === -1
    return true
  }

  #readFound([, areaCode, exchange, rest]: RegExpExecArray): string | undefined {
    if (Number(areaCode) < 200 || Number(exchange) < 200) return rangeRule
    this.rows += 1
    this.#sink(Number(`${areaCode}${exchange}`), Number(rest))
    return undefined
  }

  #readRow(table: NumberRows, text: string): string | undefined {
    const found = table.read(text)
    if (typeof found === 'string') return found
    this.rows += 1
    if (found.isDayUnread) this.unreadDays += 1
    this.#sink(found.prefix, found.line, found.day)
    return undefined
  }
}

/**
 * Where the next line starts, if the number that ends at `at` is followed by nothing or by columns of
 * which the last cannot be the mark of a change list; otherwise 0.
 */
function findLineEnd(lines: Buffer, at: number): number {
  const after = lines[at]
  if (after === newline) return at + 1
  if (after === carriageReturn && lines[at + 1] === newline) return at + 2
  if (after !== comma) return 0
  const end = lines.indexOf(newline, at)
  let last = end - 1
  if (lines[last] === carriageReturn) last -= 1
  for (let byte = at; byte < last; byte += 1) if (lines[byte] === carriageReturn) return 0
  if (lines[last] === quote) last -= 1
  return mayMarkChange.has(lines[last] ?? 0) ? 0 : end + 1
}

/** Bytes that a row of a change list may end with: its mark, a quote, or blanks. */
const mayMarkChange: ReadonlySet<number> = new Set(Buffer.from('ADad" \t\r'))

/** Area code, exchange and line, in one column or in two (`AAA,NNNNNNN`). */
const numberPattern = /^"?(\d{3})(?:"?\s*,\s*"?)?(\d{3})(\d{4})"?\s*(?:$|[,;|\t])/

/** A line that may be the start of a number with the usual punctuation. */
const mayBeNumber = /^["\d(+][\d",\s().-]*$/

/** A row of the US registry's change list: a number, a time, added or deleted. */
const changePattern =
  /^"?\d{3}(?:"?\s*,\s*"?)?\d{7}"?.*[,;|\t]\s*"?(?:\d{4}-?\d{2}-?\d{2}|\d{1,2}\/\d{1,2}\/\d{4})[^,;|\t]*[,;|\t]\s*"?[AD]"?$/i

const shapeRule = 'must begin with a number of ten digits, or with AAA,NNNNNNN'
const rangeRule = 'area code and exchange must begin with 2 to 9'
const changeRule = 'is a row of a change list; only a full list can be imported'
