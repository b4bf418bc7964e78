/**
 * Reads lists of telephone numbers: one number a line, the `AAA,NNNNNNN` of the US registry's flat files, or a table. With a header, the
 * numbers may be in any column, and another one may give the day of each.
 */
import type { LocalDay } from '../../../domain/time/clock.js'
import { type FieldProblem, isFieldProblem } from '../../../errors.js'
import { formatSourcePath } from '../../files/source-file.js'
import type { BadLines } from '../bad-lines.js'
import { normalizeColumnName } from '../cells.js'
import { readPastDay } from '../fact-table.js'
import { hasOnlyNumbers, numberColumnNames, readNumber } from '../number-cells.js'
import { type RowContext, readTable, type TableSummary } from '../table.js'
import type { Row, TableFormat, TableOptions } from '../table-layout.js'
import {
  carriageReturn,
  comma,
  hasHeaderDigits,
  headerRule,
  headerStart,
  isHeaderLike,
  isTruncatedNumber,
  type NumberLinesSummary,
  type NumberSource,
  newline,
  parseDigits,
} from './number-lines.js'

/** Receives each number as its first six and last four digits, with its day if there is one. */
export type NumberSink = (prefix: number, line: number, day?: LocalDay) => void

export interface PlainNumbersOptions {
  readonly table?: TableOptions | undefined
  /** The day of the import, in UTC. */
  readonly today?: LocalDay | undefined
}

export interface PlainNumbersSummary
  extends NumberLinesSummary,
    Pick<TableSummary, 'leftOut' | 'notes'> {}

/**
 * Passes the numbers of a source, including duplicates, to `sink`. Throws {@link DataFileError} for a
 * web page, for a file that ends in the middle of a number, for one whose columns must be named, and for
 * too many bad lines; the caller must then discard what `sink` received.
 */
export async function readPlainNumbers(
  source: NumberSource,
  sink: NumberSink,
  badLines: BadLines,
  options: PlainNumbersOptions = {},
): Promise<PlainNumbersSummary> {
  const list = new PlainNumbers(sink, options.today ?? Number.MAX_SAFE_INTEGER - 1)
  const { name, stream } = source
  const read = await readTable<keyof typeof columns>({
    source: { name, path: formatSourcePath(source), stream },
    table,
    options: options.table,
    readRow: (row, context) => list.readRow(row, context),
    onBadRow: (bad) => badLines.add(bad),
    onRow: () => undefined,
    parseFast: (bytes, start) => list.parseFast(bytes, start),
  })
  badLines.requireWithinLimit()
  const { headerLine, leftOut, notes } = read
  const header = headerLine && { file: name, line: headerLine.line, value: headerLine.text.trim() }
  const isBlank = read.rows === 0 && headerLine === undefined
  return { rows: list.rows, unreadDays: list.unreadDays, isBlank, header, leftOut, notes }
}

export const columns = {
  number: numberColumnNames,
  day: [
    ...['date', 'day', 'added', 'addedon', 'dateadded', 'addeddate', 'adddate', 'listedon'],
    ...['registered', 'registeredon', 'registrationdate', 'dateregistered', 'effectivedate'],
    ...['portdate', 'porteddate', 'portedon', 'dateported', 'activationdate'],
  ],
  /** Before a number of seven digits. */
  areaCode: ['areacode', 'npa', 'area', 'ac'],
} as const

const table: TableFormat<keyof typeof columns> = {
  description: 'a list of telephone numbers',
  columns,
  optional: ['day', 'areaCode'],
  columnsWithoutHeader: {
    // A first line with a mangled number is no header.
    isRow: (cells, text) =>
      !isHeaderLike(text.trim()) && !(namesNumbers(cells) && hasHeaderDigits(text)),
    order: (cells) => {
      const place = cells.findIndex(hasOnlyNumbers)
      return [...Array(Math.max(place, 0)).fill(undefined), 'number']
    },
  },
  numberColumn: 'number',
  hasNumbersFirst: true,
  asksWhichRows: true,
  firstOf: ['day', 'areaCode'],
  hasLooseWidth: 'any',
  mayBeCutOff: (row, isBad) =>
    isBad && (isTruncatedNumber(row) || mayBeNumber.test(row) || endsInNumber.test(row)),
  mayBeEmpty: true,
}

const namesNumbers = (cells: readonly string[]) =>
  cells.some((cell) => columns.number.some((name) => name === normalizeColumnName(cell)))

/** A line that may be the start of a number with the usual punctuation, or one that ends with it. */
const mayBeNumber = /^["\d(+][\d",\s().-]*$/
const endsInNumber = /[,;|\t]\s*["\d(+]?[\d",\s().-]*$/

class PlainNumbers {
  readonly #sink: NumberSink
  readonly #today: LocalDay
  #lastText = ''
  #lastDay: LocalDay | undefined
  rows = 0
  unreadDays = 0

  constructor(sink: NumberSink, today: LocalDay) {
    this.#sink = sink
    this.#today = today
  }

  /** A line with more than the number is read as a row. */
  parseFast(bytes: Buffer, start: number): number {
    const areaCode = parseDigits(bytes, start, 3)
    const exchangeAt = bytes[start + 3] === comma ? start + 4 : start + 3
    const exchange = parseDigits(bytes, exchangeAt, 3)
    const line = parseDigits(bytes, exchangeAt + 3, 4)
    if (areaCode < 200 || exchange < 200 || line < 0) return 0
    const end = exchangeAt + 7
    const returns = bytes[end] === carriageReturn ? 1 : 0
    if (bytes[end + returns] !== newline) return 0
    this.rows += 1
    this.#sink(areaCode * 1000 + exchange, line)
    return end + returns + 1
  }

  readRow(row: Row<keyof typeof columns>, context: RowContext<keyof typeof columns>) {
    const { cells, text, line } = context
    if (cells.length > 2 && isChange(cells, context)) return changeProblem(text)
    const number = readNumber(joinAreaCode(row, cells))
    if (isFieldProblem(number)) {
      const isHeaderRefused = line === 1 && headerStart.test(text)
      return isHeaderRefused ? { ...number, rule: `${number.rule}; ${headerRule}` } : number
    }
    this.rows += 1
    const day = row.day === '' ? undefined : this.#readDay(row.day, context)
    if (row.day !== '' && day === undefined) this.unreadDays += 1
    this.#sink(Number(number.slice(0, 6)), Number(number.slice(6)), day)
    return undefined
  }

  /** Neighboring rows often have the same day. */
  #readDay(text: string, { days }: RowContext<keyof typeof columns>): LocalDay | undefined {
    if (text !== this.#lastText) {
      const day = readPastDay('day', text, { today: this.#today, days })
      this.#lastText = text
      this.#lastDay = typeof day === 'number' && isStorable(day) ? day : undefined
    }
    return this.#lastDay
  }
}

function joinAreaCode({ number, areaCode }: Row<keyof typeof columns>, cells: readonly string[]) {
  const [first = '', second = ''] = areaCode === '' ? [number, cells[1]] : [areaCode, number]
  return /^\d{3}$/.test(first) && /^\d{3}-?\d{4}$/.test(second) ? first + second : number
}

/** A row of the US registry's change list: a number, a time, added or deleted; without a header in any order. */
function isChange(
  cells: readonly string[],
  { days, hasHeader }: RowContext<keyof typeof columns>,
): boolean {
  return (
    (hasHeader ? cells.slice(-1) : cells).some((cell) => /^(?:A|D|ADD|DELETE)$/i.test(cell)) &&
    cells.some((cell) => dayLike.test(cell) && days.read(cell) !== undefined)
  )
}

const dayLike = /^(?:\d{8}(?!\d)|\d{4}-\d|\d{1,2}\/)/

const changeProblem = (text: string): FieldProblem => ({
  field: 'row',
  value: text,
  rule: 'is a row of a change list; only a full list can be imported',
})

/** Excludes 1970-01-01, which means an unknown day, and days after 2149-06-06, the limit of two bytes. */
function isStorable(day: LocalDay): boolean {
  return day > 0 && day <= 65_535
}
