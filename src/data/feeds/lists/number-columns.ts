/** Finds the columns of a list that contain its numbers and their days, by header names. */
import type { LocalDay } from '../../../domain/time/clock.js'
import { truncate } from '../../../errors.js'
import { detectDelimiter, splitCells } from '../cells.js'
import { numberColumnNames, readNumber, readPastDay } from '../fact-table.js'
import { isFieldProblem, normalizeColumnName } from '../table.js'

/** Column names given by the operator; case, blanks and hyphens are ignored. */
export interface NumberColumnNames {
  readonly column?: string | undefined
  readonly dayColumn?: string | undefined
}

export interface NumberColumns {
  readonly delimiter: string
  /** Index of the column. */
  readonly number: number
  /** Index of the column, or -1 for none. */
  readonly day: number
}

const numberColumnAliases: ReadonlySet<string> = new Set([
  ...numberColumnNames,
  'tel',
  'telno',
  'phonenum',
  'telephonenum',
  'telnumber',
  'cell',
  'cellphone',
  'mobile',
  'litigatorphone',
  'litigatornumber',
  'plaintiffphone',
  'dncnumber',
  'callednumber',
])

const dayColumnAliases: ReadonlySet<string> = new Set([
  'date',
  'day',
  'added',
  'addedon',
  'dateadded',
  'addeddate',
  'adddate',
  'listedon',
  'registered',
  'registeredon',
  'registrationdate',
  'dateregistered',
  'effectivedate',
  'portdate',
  'porteddate',
  'portedon',
  'dateported',
  'activationdate',
])

const areaCodeColumnAliases: ReadonlySet<string> = new Set(['areacode', 'npa', 'area', 'ac'])

/**
 * Finds the columns in a header. Returns `undefined` if no name identifies the column of the numbers,
 * or if they are in two columns, area code first. Returns an error text if a requested column is
 * missing or ambiguous.
 */
export function findColumns(
  header: string,
  { column, dayColumn }: NumberColumnNames,
): NumberColumns | string | undefined {
  const delimiter = detectDelimiter(header)
  const written = splitCells(header, delimiter) ?? []
  const cells = written.map(normalizeColumnName)
  for (const asked of [column, dayColumn]) {
    if (asked === undefined || cells.includes(normalizeColumnName(asked))) continue
    return `has no column '${asked}'; its columns are ${truncate(written.join(', '))}`
  }
  // There must be only one, since the numbers of a second column would be missing from the list.
  const [number, second] = findNumberColumns(cells, column)
  if (second !== undefined) {
    return 'has several columns that may contain the number; name one with --column'
  }
  if (number === undefined && dayColumn === undefined) return undefined
  const day =
    dayColumn === undefined
      ? cells.findIndex((cell) => dayColumnAliases.has(cell))
      : cells.indexOf(normalizeColumnName(dayColumn))
  return { delimiter, number: number ?? 0, day }
}

function findNumberColumns(cells: readonly string[], column: string | undefined): number[] {
  const findPositions = (isWanted: (cell: string) => boolean) =>
    cells.flatMap((cell, index) => (isWanted(cell) ? [index] : []))
  if (column !== undefined) return findPositions((cell) => cell === normalizeColumnName(column))
  const [first = ''] = cells
  return areaCodeColumnAliases.has(first)
    ? []
    : findPositions((cell) => numberColumnAliases.has(cell))
}

export interface DatedNumber {
  readonly prefix: number
  readonly line: number
  readonly day: LocalDay | undefined
  /** Whether the cell is not empty but has no usable day. */
  readonly isDayUnread: boolean
}

/** Reads rows of a table whose columns are known. */
export class NumberRows {
  readonly #columns: NumberColumns
  readonly #today: LocalDay
  #lastText = ''
  #lastDay: LocalDay | undefined

  /** A day after `today` is unusable; if absent, there is no limit. */
  constructor(columns: NumberColumns, today: LocalDay = Number.MAX_SAFE_INTEGER - 1) {
    this.#columns = columns
    this.#today = today
  }

  /** Reads a row; returns an error text if it is bad. */
  read(line: string): DatedNumber | string {
    const cells = splitCells(line, this.#columns.delimiter)
    if (!cells) return 'has a misplaced or unclosed quote'
    const cell = cells[this.#columns.number]
    if (cell === undefined) {
      return `has ${cells.length} cells; the number is in cell ${this.#columns.number + 1}`
    }
    const number = readNumber(cell)
    if (isFieldProblem(number)) return `number '${truncate(cell)}' ${number.rule}`
    const text = cells[this.#columns.day] ?? ''
    const day = text === '' ? undefined : this.#dayOf(text)
    return {
      prefix: Number(number.slice(0, 6)),
      line: Number(number.slice(6)),
      day,
      isDayUnread: text !== '' && day === undefined,
    }
  }

  /** Caches the last day, since neighboring rows often have the same one. */
  #dayOf(text: string): LocalDay | undefined {
    if (text !== this.#lastText) {
      const day = readPastDay('day', text, this.#today)
      this.#lastText = text
      this.#lastDay = typeof day === 'number' && isStorable(day) ? day : undefined
    }
    return this.#lastDay
  }
}

/** Excludes 1970-01-01, which means an unknown day, and days after 2149-06-06, the limit of two bytes. */
function isStorable(day: LocalDay): boolean {
  return day > 0 && day <= 65_535
}
