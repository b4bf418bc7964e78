/** Which column of a list holds its numbers and which, if any, their days: by the names in its header. */
import type { LocalDay } from '../../domain/clock.js'
import { shorten } from '../../errors.js'
import { isFieldProblem, numberNames, readNumber, readPastDay } from './fact-table.js'
import { delimiterOf, splitCells } from './table.js'

/** Columns as the operator names them, in any case and spelling of blanks and hyphens. */
export interface AskedColumns {
  readonly column?: string | undefined
  readonly dayColumn?: string | undefined
}

export interface NumberColumns {
  readonly delimiter: string
  /** Place of the column, from 0. */
  readonly number: number
  /** -1 for none. */
  readonly day: number
}

const namesOfNumber: ReadonlySet<string> = new Set([
  ...numberNames,
  ...['tel', 'telno', 'phonenum', 'telephonenum', 'telnumber', 'cell', 'cellphone', 'mobile'],
  ...['litigatorphone', 'litigatornumber', 'plaintiffphone', 'dncnumber', 'callednumber'],
])

const namesOfDay: ReadonlySet<string> = new Set([
  ...['date', 'day', 'added', 'addedon', 'dateadded', 'addeddate', 'adddate', 'listedon'],
  ...['registered', 'registeredon', 'registrationdate', 'dateregistered', 'effectivedate'],
  ...['portdate', 'porteddate', 'portedon', 'dateported', 'activationdate'],
])

const namesOfAreaCode: ReadonlySet<string> = new Set(['areacode', 'npa', 'area', 'ac'])

/**
 * Finds the columns in a header. Gives `undefined` when no name says where the numbers are, or when
 * they are in two columns, area code first; and a text, the rule it breaks, when a column that was
 * asked for is not there or when several might be meant.
 */
export function columnsOf(
  header: string,
  { column, dayColumn }: AskedColumns,
): NumberColumns | string | undefined {
  const delimiter = delimiterOf(header)
  const written = splitCells(header, delimiter) ?? []
  const cells = written.map(plain)
  for (const asked of [column, dayColumn]) {
    if (asked === undefined || cells.includes(plain(asked))) continue
    return `has no column '${asked}'; its columns are ${shorten(written.join(', '))}`
  }
  const number = column === undefined ? numberColumnOf(cells) : onlyPlace(placesOf(cells, column))
  if (number === 'several') {
    return 'names several columns that may hold the number; say which one with --column'
  }
  if (number === undefined && dayColumn === undefined) return undefined
  const day =
    dayColumn === undefined
      ? cells.findIndex((cell) => namesOfDay.has(cell))
      : cells.indexOf(plain(dayColumn))
  return { delimiter, number: number ?? 0, day }
}

/** There must be only one: the numbers of a second one would be missing from the list. */
function numberColumnOf(cells: readonly string[]): number | 'several' | undefined {
  const [first = ''] = cells
  if (namesOfAreaCode.has(first)) return undefined
  return onlyPlace(cells.flatMap((cell, index) => (namesOfNumber.has(cell) ? [index] : [])))
}

function placesOf(cells: readonly string[], name: string): number[] {
  return cells.flatMap((cell, index) => (cell === plain(name) ? [index] : []))
}

function onlyPlace(places: readonly number[]): number | 'several' | undefined {
  return places.length > 1 ? 'several' : places[0]
}

/** The letters and digits of a name. */
function plain(cell: string): string {
  return cell.toLowerCase().replace(/[^a-z0-9]/g, '')
}

export interface ListedNumber {
  readonly prefix: number
  readonly line: number
  readonly day: LocalDay | undefined
  /** Whether there is something in its place that is no usable day. */
  readonly isDayUnread: boolean
}

/** Reads rows of a table whose columns are known. */
export class NumberRows {
  readonly #columns: NumberColumns
  readonly #today: LocalDay
  #lastText = ''
  #lastDay: LocalDay | undefined

  /** Days after `today` are no days; without it none is too late. */
  constructor(columns: NumberColumns, today: LocalDay = Number.MAX_SAFE_INTEGER - 1) {
    this.#columns = columns
    this.#today = today
  }

  /** Gives the rule that the row breaks when it breaks one. */
  read(line: string): ListedNumber | string {
    const cells = splitCells(line, this.#columns.delimiter)
    if (!cells) return 'has a quote out of place or not closed'
    const cell = cells[this.#columns.number]
    if (cell === undefined) {
      return `has ${cells.length} cells; the number is in cell ${this.#columns.number + 1}`
    }
    const number = readNumber(cell)
    if (isFieldProblem(number)) return `number '${shorten(cell)}' ${number.rule}`
    const text = cells[this.#columns.day] ?? ''
    const day = text === '' ? undefined : this.#dayOf(text)
    return {
      prefix: Number(number.slice(0, 6)),
      line: Number(number.slice(6)),
      day,
      isDayUnread: text !== '' && day === undefined,
    }
  }

  /** Neighbouring rows tend to have the same. */
  #dayOf(text: string): LocalDay | undefined {
    if (text !== this.#lastText) {
      const day = readPastDay('day', text, this.#today)
      this.#lastText = text
      this.#lastDay = typeof day === 'number' && isStorable(day) ? day : undefined
    }
    return this.#lastDay
  }
}

/** After 1970-01-01, which stands for an unknown day, and up to 2149-06-06, as in two bytes. */
function isStorable(day: LocalDay): boolean {
  return day > 0 && day <= 65_535
}
