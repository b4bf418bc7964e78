/**
 * Reads snapshots of numbers ported between wireline and wireless. A line is one number, or a range
 * given by its first number and the last four digits of its last one, such as `8505550100|0123`. A day
 * may follow, and a header is allowed.
 */
import { basename } from 'node:path'
import type { LocalDay } from '../../../domain/time/clock.js'
import { DataFileError } from '../../../errors.js'
import { formatSourcePath } from '../../files/source-file.js'
import type { BadLines } from '../bad-lines.js'
import { TableDays } from '../days.js'
import {
  carriageReturn,
  isHeaderLike,
  isTruncatedNumber,
  type LineFormat,
  type NumberSource,
  newline,
  parseDigits,
  readNumberLines,
} from './number-lines.js'
import type { NumberSink, PlainNumbersOptions, PlainNumbersSummary } from './plain-numbers.js'

/** The list that a snapshot belongs to, if the file still has its publisher's name. */
export function detectPortedList(
  fileName: string,
): 'ported-wireless' | 'ported-wireline' | undefined {
  const name = basename(fileName).toLowerCase()
  const found = /(wireline|wireless)[^a-z0-9]*to[^a-z0-9]*(wireline|wireless)/.exec(name)
  if (!found || found[1] === found[2]) return undefined
  return found[2] === 'wireless' ? 'ported-wireless' : 'ported-wireline'
}

/** Like `readPlainNumbers`; every number of a range counts as a row. */
export async function readPortedNumbers(
  source: NumberSource,
  sink: NumberSink,
  badLines: BadLines,
  { today, table }: Pick<PlainNumbersOptions, 'today' | 'table'> = {},
): Promise<PlainNumbersSummary> {
  const days = new TableDays(table?.dates)
  const format = new PortedNumbersFormat(sink, today ?? Number.MAX_SAFE_INTEGER - 1, days)
  const read = await readNumberLines(source, format, badLines)
  const question = days.findQuestion()
  if (question === undefined) return { ...read, leftOut: 0, notes: [] }
  throw new DataFileError(formatSourcePath(source), question)
}

class PortedNumbersFormat implements LineFormat {
  readonly #sink: NumberSink
  readonly #today: LocalDay
  readonly #days: TableDays
  rows = 0
  unreadDays = 0

  constructor(sink: NumberSink, today: LocalDay, days: TableDays) {
    this.#sink = sink
    this.#today = today
    this.#days = days
  }

  parseFast(bytes: Buffer, start: number): number {
    const areaCode = parseDigits(bytes, start, 3)
    const exchange = parseDigits(bytes, start + 3, 3)
    const line = parseDigits(bytes, start + 6, 4)
    if (areaCode < 200 || exchange < 200 || line < 0) return 0
    const returns = bytes[start + 10] === carriageReturn ? 1 : 0
    if (bytes[start + 10 + returns] !== newline) return 0
    this.rows += 1
    this.#sink(areaCode * 1000 + exchange, line)
    return start + 11 + returns
  }

  parseLine(line: string, isFirst: boolean): string | undefined {
    const [head = '', ...others] = line.split(/[|,;\t]/).map(withoutQuotes)
    const found = numberOrRangePattern.exec(head)
    if (!found) return isFirst && isHeaderLike(line) ? undefined : shapeRule
    const [, areaCode = '', exchange = '', start = '', hyphened] = found
    if (Number(areaCode) < 200 || Number(exchange) < 200) {
      return 'area code and exchange must begin with 2 to 9'
    }
    const end = hyphened ?? this.#parseRangeEnd(others)
    if (end === undefined) return `the range ends with '${others[0]}', not with four digits`
    const last = end === '' ? start : end
    if (last < start) return `the range ends with ${last}, before its start`
    this.#addRange({
      prefix: Number(`${areaCode}${exchange}`),
      start,
      last,
      day: this.#readDay(others),
    })
    return undefined
  }

  isTruncated(line: string): boolean {
    return isTruncatedNumber(line) || truncatedRangePattern.test(line)
  }

  #addRange({ prefix, start, last, day }: Range): void {
    for (let line = Number(start); line <= Number(last); line += 1) {
      this.rows += 1
      this.#sink(prefix, line, day)
    }
  }

  /** The end of a range, from the cell after its start; empty for one number, `undefined` if unreadable. */
  #parseRangeEnd([second = '']: readonly string[]): string | undefined {
    if (second === '' || /^\d{4}$/.test(second)) return second
    return this.#days.read(second) === undefined ? undefined : ''
  }

  #readDay(cells: readonly string[]): LocalDay | undefined {
    const day = cells.map((cell) => this.#days.read(cell)).find((one) => one !== undefined)
    // Days up to 1970-01-01 mean that the day is unknown.
    if (day === undefined || (day > 0 && day <= this.#today + 1)) return day
    this.unreadDays += 1
    return undefined
  }
}

interface Range {
  readonly prefix: number
  /** Last four digits of the first number; `end` has those of the last. */
  readonly start: string
  readonly last: string
  readonly day: LocalDay | undefined
}

const numberOrRangePattern = /^(\d{3})(\d{3})(\d{4})(?:\s*-\s*(\d{4}))?$/
/** A range whose end is cut off. */
const truncatedRangePattern = /^"?\d{10}"?\s*[|,;\t-]\s*"?\d{0,3}$/

const shapeRule =
  'must be a number of ten digits, or a range such as 8505550100|0123: its first number and the ' +
  'last four digits of its last'

function withoutQuotes(cell: string): string {
  return cell
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()
}
