/**
 * Reads lists of telephone numbers: one ten-digit number per line or first CSV column, or the
 * `AAA,NNNNNNN` of the US registry's flat files. Under a header the number may be in any column
 * that is named for it, written as people write numbers, and a column may give the day of each.
 * What becomes of the numbers is left to the caller.
 */
import type { LocalDay } from '../../domain/clock.js'
import { DataFileError } from '../../errors.js'
import type { BadLines } from './bad-lines.js'
import { type AskedColumns, columnsOf, NumberRows } from './number-columns.js'
import {
  carriageReturn,
  comma,
  digitsAt,
  hasHeaderDigits,
  headerRule,
  isCutNumber,
  type LineFormat,
  type LinesRead,
  looksLikeHeader,
  type NumberSource,
  newline,
  quote,
  readNumberLines,
} from './number-lines.js'
import { placeOf } from './open-source-file.js'

/** Given each number as its first six digits and its last four, with its day where there is one. */
export type NumberSink = (prefix: number, line: number, day?: LocalDay) => void

export interface PlainNumbersRead extends LinesRead {
  /** Numbers, duplicates included. */
  readonly rows: number
  /** Numbers whose day could not be read, or lies ahead: they are taken without one. */
  readonly unreadDays: number
}

export interface PlainNumbersOptions extends AskedColumns {
  /** The day of the import, in UTC. */
  readonly today?: LocalDay | undefined
}

/**
 * Feeds the numbers of a source to `sink`. Throws {@link DataFileError} for a web page, for a file
 * that ends in the middle of a number, for one without a column that was asked for, and when too
 * many lines are bad: the caller then drops what `sink` was given.
 */
export async function readPlainNumbers(
  source: NumberSource,
  sink: NumberSink,
  badLines: BadLines,
  options: PlainNumbersOptions = {},
): Promise<PlainNumbersRead> {
  const format = new PlainNumbers(source, sink, options)
  const lines = await readNumberLines(source, format, badLines)
  const { rows, unreadDays } = format
  return { ...lines, rows, unreadDays }
}

class PlainNumbers implements LineFormat {
  readonly #source: NumberSource
  readonly #sink: NumberSink
  readonly #options: PlainNumbersOptions
  /** Reads what is not written the plain way; there under a header that names the number. */
  #table: NumberRows | undefined
  #isFirstColumn = true
  /** Whether a line that begins with a number has it, and no day, where it should be. */
  #isPlain: boolean
  #rows = 0
  #unreadDays = 0

  constructor(source: NumberSource, sink: NumberSink, options: PlainNumbersOptions) {
    this.#source = source
    this.#sink = sink
    this.#options = options
    this.#isPlain = options.column === undefined && options.dayColumn === undefined
  }

  get rows(): number {
    return this.#rows
  }

  get unreadDays(): number {
    return this.#unreadDays
  }

  quick(bytes: Buffer, start: number): number {
    if (!this.#isPlain) return 0
    const areaCode = digitsAt(bytes, start, 3)
    const exchangeAt = bytes[start + 3] === comma ? start + 4 : start + 3
    const exchange = digitsAt(bytes, exchangeAt, 3)
    const line = digitsAt(bytes, exchangeAt + 3, 4)
    if (areaCode < 200 || exchange < 200 || line < 0) return 0
    const end = plainEndOf(bytes, exchangeAt + 7)
    if (end === 0) return 0
    this.#rows += 1
    this.#sink(areaCode * 1000 + exchange, line)
    return end
  }

  text(line: string, isFirst: boolean): string | undefined {
    if (isFirst && this.#isHeader(line)) return undefined
    if (changePattern.test(line)) return changeRule
    const found = this.#isFirstColumn ? numberPattern.exec(line) : null
    if (this.#table && !(found && this.#isPlain)) {
      const rule = this.#readRow(this.#table, line)
      if (rule === undefined || !found) return rule
    }
    return found ? this.#readFound(found) : shapeRule
  }

  isCut(line: string): boolean {
    if (!this.#isFirstColumn) return true
    return this.#table ? mayBeNumber.test(line) : isCutNumber(line)
  }

  /** Columns that were asked for must be in the first line, which then is a header. */
  #isHeader(line: string): boolean {
    const isAsked = !this.#isPlain
    if (line.startsWith('<') || (!isAsked && !hasHeaderDigits(line))) return false
    const columns = columnsOf(line, this.#options)
    if (typeof columns === 'string') {
      if (!isAsked && !looksLikeHeader(line)) return false
      throw new DataFileError(placeOf(this.#source), `its first line ${columns}`)
    }
    if (isAsked && !hasHeaderDigits(line)) {
      throw new DataFileError(placeOf(this.#source), `its first line is no header: ${headerRule}`)
    }
    if (!columns) return looksLikeHeader(line)
    this.#table = new NumberRows(columns, this.#options.today)
    this.#isFirstColumn = columns.number === 0
    this.#isPlain = this.#isFirstColumn && columns.day === -1
    return true
  }

  #readFound([, areaCode, exchange, rest]: RegExpExecArray): string | undefined {
    if (Number(areaCode) < 200 || Number(exchange) < 200) return rangeRule
    this.#rows += 1
    this.#sink(Number(`${areaCode}${exchange}`), Number(rest))
    return undefined
  }

  #readRow(table: NumberRows, text: string): string | undefined {
    const found = table.read(text)
    if (typeof found === 'string') return found
    this.#rows += 1
    if (found.isDayUnread) this.#unreadDays += 1
    this.#sink(found.prefix, found.line, found.day)
    return undefined
  }
}

/**
 * Where the next line starts, when the number that ends at `at` is followed by nothing, or by
 * columns of which the last cannot be the mark of a change list. 0 in all other cases.
 */
function plainEndOf(lines: Buffer, at: number): number {
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

/** What a row of a change list may end with, a quote aside: its mark, or blanks after it. */
const mayMarkChange: ReadonlySet<number> = new Set(Buffer.from('ADad" \t\r'))

/** Area code, exchange and line, whether in one column or, as `AAA,NNNNNNN`, in two. */
const numberPattern = /^"?(\d{3})(?:"?\s*,\s*"?)?(\d{3})(\d{4})"?\s*(?:$|[,;|\t])/

/** A line that may be the start of a number as people write it. */
const mayBeNumber = /^["\d(+][\d",\s().-]*$/

/** A row of the US registry's change list: a number, a time, added or deleted. */
const changePattern =
  /^"?\d{3}(?:"?\s*,\s*"?)?\d{7}"?.*[,;|\t]\s*"?(?:\d{4}-?\d{2}-?\d{2}|\d{1,2}\/\d{1,2}\/\d{4})[^,;|\t]*[,;|\t]\s*"?[AD]"?$/i

const shapeRule = 'has to begin with a number of ten digits, or with AAA,NNNNNNN'
const rangeRule = 'area code and exchange have to begin with 2 to 9'
const changeRule = 'is a row of a change list; only a full list can be imported'
