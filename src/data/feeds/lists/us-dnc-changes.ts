/**
 * Reads change files of the US registry: a number, a timestamp, and `A` for added or `D` for deleted,
 * such as `8505550123,2026-11-18T08:00:00,A` or `850,5550123,2026-11-18,D`. A timestamp without a zone
 * is read as UTC, which is earlier than that time in any US zone, so a deletion may be treated
 * as older than it is, never as newer.
 */
import type { Instant } from '../../../domain/time/clock.js'
import { parseInstant } from '../../../domain/time/dates.js'
import type { BadLines } from '../bad-lines.js'
import {
  carriageReturn,
  comma,
  isHeaderLike,
  isTruncatedNumber,
  type LineFormat,
  type NumberLinesSummary,
  type NumberSource,
  newline,
  parseDigits,
  readNumberLines,
} from './number-lines.js'

export interface ChangeReadOptions {
  /** Called for each row in file order; the object is reused between calls. */
  readonly onRow: (change: ListChange) => void
  /** Whether the changed list covers the area code. */
  readonly covers: (areaCode: number) => boolean
  /** The latest accepted timestamp. */
  readonly maxInstant: Instant
}

export interface ListChange {
  /** First six digits. */
  prefix: number
  /** Last four digits. */
  line: number
  at: Instant
  isAdded: boolean
}

/** Throws `DataFileError` like the reader of full lists; the caller must then discard the rows. */
export function readUsDncChanges(
  source: NumberSource,
  wanted: ChangeReadOptions,
  badLines: BadLines,
): Promise<NumberLinesSummary> {
  return readNumberLines(source, new ChangeFormat(wanted), badLines)
}

const letterA = 0x41
const letterD = 0x44
/** Length of `2026-11-18T08:00:00`. */
const maxPlainStampLength = 19

class ChangeFormat implements LineFormat {
  readonly #options: ChangeReadOptions
  readonly #change: ListChange = { prefix: 0, line: 0, at: 0, isAdded: false }
  readonly #lastStamp = Buffer.alloc(maxPlainStampLength)
  #lastStampBytes = 0
  #lastAt: Instant | undefined
  rows = 0
  readonly unreadDays = 0

  constructor(wanted: ChangeReadOptions) {
    this.#options = wanted
  }

  parseFast(bytes: Buffer, start: number): number {
    const areaCode = parseDigits(bytes, start, 3)
    const exchangeAt = bytes[start + 3] === comma ? start + 4 : start + 3
    const exchange = parseDigits(bytes, exchangeAt, 3)
    const line = parseDigits(bytes, exchangeAt + 3, 4)
    const stampAt = exchangeAt + 8
    if (areaCode < 200 || exchange < 200 || line < 0 || bytes[stampAt - 1] !== comma) return 0
    const stampEnd = bytes.indexOf(comma, stampAt)
    const mark = bytes[stampEnd + 1]
    const end = endOfLine(bytes, stampEnd + 2)
    if (stampEnd < 0 || end === 0 || (mark !== letterA && mark !== letterD)) return 0
    const at = this.#parseStamp(bytes, stampAt, stampEnd)
    if (at === undefined || at > this.#options.maxInstant || !this.#options.covers(areaCode))
      return 0
    this.#emit(areaCode * 1000 + exchange, { line, at, isAdded: mark === letterA })
    return end
  }

  parseLine(text: string, isFirst: boolean): string | undefined {
    const found = changePattern.exec(text)
    if (!found) return isFirst && isHeaderLike(text) ? undefined : shapeRule
    const [, areaCode = '', exchange = '', line = '', stamp = '', mark = ''] = found
    if (Number(areaCode) < 200 || Number(exchange) < 200) {
      return 'area code and exchange must begin with 2 to 9'
    }
    const at = parseInstant(stamp)
    if (at === undefined) return `'${stamp}' is not a date or a date and time`
    if (at > this.#options.maxInstant) return `'${stamp}' must not be in the future`
    if (!this.#options.covers(Number(areaCode))) {
      return `area code ${areaCode} is not covered by the list; import the full list of that area code`
    }
    const isAdded = mark.toUpperCase() === 'A'
    this.#emit(Number(`${areaCode}${exchange}`), { line: Number(line), at, isAdded })
    return undefined
  }

  isTruncated(line: string): boolean {
    return isTruncatedNumber(line) || truncatedChangePattern.test(line)
  }

  #emit(prefix: number, rest: Omit<ListChange, 'prefix'>): void {
    this.rows += 1
    this.#options.onRow(Object.assign(this.#change, rest, { prefix }))
  }

  /** Caches the last timestamp, since neighboring rows often have the same one. */
  #parseStamp(bytes: Buffer, start: number, end: number): Instant | undefined {
    const length = end - start
    if (length > maxPlainStampLength) return undefined
    const last = this.#lastStamp
    if (length === this.#lastStampBytes && last.compare(bytes, start, end, 0, length) === 0) {
      return this.#lastAt
    }
    bytes.copy(last, 0, start, end)
    this.#lastStampBytes = length
    this.#lastAt = parseInstant(bytes.toString('latin1', start, end))
    return this.#lastAt
  }
}

/** Where the next line starts, if the line ends at `at`; otherwise 0. */
function endOfLine(bytes: Buffer, at: number): number {
  if (bytes[at] === newline) return at + 1
  return bytes[at] === carriageReturn && bytes[at + 1] === newline ? at + 2 : 0
}

const changePattern =
  /^"?(\d{3})(?:"?\s*,\s*"?)?(\d{3})(\d{4})"?\s*,\s*"?([^",]*?)"?\s*,\s*"?([ADad])"?$/
/** The start of a row, up to its mark. */
const truncatedChangePattern = /^"?\d{3}(?:"?\s*,\s*"?)?\d{7}"?\s*(?:,[^,]*){0,1}(?:,\s*"?)?$/

const shapeRule =
  'must be a number, a timestamp and A or D, such as 8505550123,2026-11-18T08:00:00,A'
