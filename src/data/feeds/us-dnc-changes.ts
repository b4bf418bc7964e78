/**
 * Reads change files of the US registry: a number, a time stamp, and `A` for added or `D` for
 * deleted, `8505550123,2026-11-18T08:00:00,A`; also `850,5550123,2026-11-18,D`. A stamp without a
 * zone is taken for UTC, which is earlier than any zone of the US has it: a deletion then counts
 * rather too late than too early. What becomes of the rows is left to the caller.
 */
import { type Instant, parseInstant } from '../../domain/clock.js'
import type { BadLines } from './bad-lines.js'
import {
  carriageReturn,
  comma,
  digitsAt,
  isCutNumber,
  type LineFormat,
  type LinesRead,
  looksLikeHeader,
  type NumberSource,
  newline,
  readNumberLines,
} from './number-lines.js'

export interface ChangesWanted {
  /** Given each row in the order of the file. */
  readonly onRow: (change: Change) => void
  /** Whether the list that is changed speaks for the area code. */
  readonly covers: (areaCode: number) => boolean
  /** The latest a stamp may be. */
  readonly latest: Instant
}

/** The same object is handed on again and again. */
export interface Change {
  /** First six digits. */
  prefix: number
  /** Last four digits. */
  line: number
  at: Instant
  isAdded: boolean
}

/** Throws `DataFileError` as the reader of full lists does; rows given by then are to be dropped. */
export async function readUsDncChanges(
  source: NumberSource,
  wanted: ChangesWanted,
  badLines: BadLines,
): Promise<LinesRead & { readonly rows: number }> {
  const format = new ChangeLines(wanted)
  const lines = await readNumberLines(source, format, badLines)
  return { ...lines, rows: format.rows }
}

const letterA = 0x41
const letterD = 0x44
/** Of `2026-11-18T08:00:00`. */
const longestPlainStamp = 19

class ChangeLines implements LineFormat {
  readonly #wanted: ChangesWanted
  readonly #change: Change = { prefix: 0, line: 0, at: 0, isAdded: false }
  readonly #lastStamp = Buffer.alloc(longestPlainStamp)
  #lastStampBytes = 0
  #lastAt: Instant | undefined
  rows = 0

  constructor(wanted: ChangesWanted) {
    this.#wanted = wanted
  }

  quick(bytes: Buffer, start: number): number {
    const areaCode = digitsAt(bytes, start, 3)
    const exchangeAt = bytes[start + 3] === comma ? start + 4 : start + 3
    const exchange = digitsAt(bytes, exchangeAt, 3)
    const line = digitsAt(bytes, exchangeAt + 3, 4)
    const stampAt = exchangeAt + 8
    if (areaCode < 200 || exchange < 200 || line < 0 || bytes[stampAt - 1] !== comma) return 0
    const stampEnd = bytes.indexOf(comma, stampAt)
    const mark = bytes[stampEnd + 1]
    const end = endOfLine(bytes, stampEnd + 2)
    if (stampEnd < 0 || end === 0 || (mark !== letterA && mark !== letterD)) return 0
    const at = this.#stamp(bytes, stampAt, stampEnd)
    if (at === undefined || at > this.#wanted.latest || !this.#wanted.covers(areaCode)) return 0
    this.#give(areaCode * 1000 + exchange, { line, at, isAdded: mark === letterA })
    return end
  }

  text(text: string, isFirst: boolean): string | undefined {
    const found = changePattern.exec(text)
    if (!found) return isFirst && looksLikeHeader(text) ? undefined : shapeRule
    const [, areaCode = '', exchange = '', line = '', stamp = '', mark = ''] = found
    if (Number(areaCode) < 200 || Number(exchange) < 200) {
      return 'area code and exchange have to begin with 2 to 9'
    }
    const at = parseInstant(stamp)
    if (at === undefined) return `'${stamp}' is no date, with or without a time`
    if (at > this.#wanted.latest) return `'${stamp}' must not lie in the future`
    if (!this.#wanted.covers(Number(areaCode))) {
      return `area code ${areaCode} is none the list covers; load its full list`
    }
    const isAdded = mark.toUpperCase() === 'A'
    this.#give(Number(`${areaCode}${exchange}`), { line: Number(line), at, isAdded })
    return undefined
  }

  isCut(line: string): boolean {
    return isCutNumber(line) || cutChange.test(line)
  }

  #give(prefix: number, rest: Omit<Change, 'prefix'>): void {
    this.rows += 1
    this.#wanted.onRow(Object.assign(this.#change, rest, { prefix }))
  }

  /** Neighbouring rows tend to have the same one. */
  #stamp(bytes: Buffer, start: number, end: number): Instant | undefined {
    const length = end - start
    if (length > longestPlainStamp) return undefined
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

/** Where the next line starts when one ends at `at`; else 0. */
function endOfLine(bytes: Buffer, at: number): number {
  if (bytes[at] === newline) return at + 1
  return bytes[at] === carriageReturn && bytes[at + 1] === newline ? at + 2 : 0
}

const changePattern =
  /^"?(\d{3})(?:"?\s*,\s*"?)?(\d{3})(\d{4})"?\s*,\s*"?([^",]*?)"?\s*,\s*"?([ADad])"?$/
/** The start of a row, up to its mark. */
const cutChange = /^"?\d{3}(?:"?\s*,\s*"?)?\d{7}"?\s*(?:,[^,]*){0,1}(?:,\s*"?)?$/

const shapeRule =
  'has to be a number, a time stamp and A or D, such as 8505550123,2026-11-18T08:00:00,A'
