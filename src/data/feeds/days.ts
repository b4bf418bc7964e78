/** Reads the days of a table, all in the same order of day and month. */
import type { LocalDay } from '../../domain/time/clock.js'
import { parseDay, toLocalDay } from '../../domain/time/dates.js'

/** Month first as in the US, or day first. */
export type DayOrder = 'mdy' | 'dmy'
export const dayOrders: readonly DayOrder[] = ['mdy', 'dmy']

const withParts = /^(\d{1,2})([/.])(\d{1,2})\2(\d{4})$/
const clockTime =
  /(?:[T ]+|, ?)\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]\.?M\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?$/i

export class TableDays {
  readonly #order: DayOrder | undefined
  /** The first that can be only day first, only month first, and both with different days. */
  #dayFirst: string | undefined
  #monthFirst: string | undefined
  #either: string | undefined

  /** Without an order, days with slashes have the month first and those with dots the day, if the whole table agrees. */
  constructor(order?: DayOrder) {
    this.#order = order
  }

  /** `YYYY-MM-DD`, `YYYY/MM/DD`, `YYYYMMDD`, `MM/DD/YYYY` or `DD.MM.YYYY`; a time after it is ignored. */
  read(text: string): LocalDay | undefined {
    const day = text.replace(clockTime, '')
    const [, one = '', mark, other = '', year] = withParts.exec(day) ?? []
    if (year === undefined) return parseDay(day.replace(/^(\d{4})\/(\d\d?)\/(\d\d?)$/, toIso))
    const parts: Parts = { one: Number(one), other: Number(other), year: Number(year) }
    if (this.#order === undefined && mark === '/') this.#note(text, parts)
    const isDayFirst = this.#order === undefined ? mark === '.' : this.#order === 'dmy'
    return toDay(parts, isDayFirst)
  }

  #note(text: string, parts: Parts): void {
    const [dayFirst, monthFirst] = [toDay(parts, true), toDay(parts, false)]
    if (dayFirst === monthFirst) return
    if (monthFirst === undefined) this.#dayFirst ??= text
    else if (dayFirst === undefined) this.#monthFirst ??= text
    else this.#either ??= text
  }

  /** Returns the question that the operator must answer before the days can be used. */
  findQuestion(): string | undefined {
    if (this.#dayFirst !== undefined) {
      return `'${this.#dayFirst}' has the day before the month${this.#monthFirst === undefined ? '' : ` and '${this.#monthFirst}' the month before the day`}; name the order of all days with --dates dmy or --dates mdy`
    }
    if (this.#either === undefined || this.#monthFirst !== undefined) return undefined
    return `'${this.#either}' may have the month or the day first, and no other row shows the order; name it with --dates mdy or --dates dmy`
  }
}

interface Parts {
  readonly one: number
  readonly other: number
  readonly year: number
}

function toDay({ one, other, year }: Parts, isDayFirst: boolean): LocalDay | undefined {
  return isDayFirst ? toLocalDay(year, other, one) : toLocalDay(year, one, other)
}

const toIso = (_: string, year: string, month: string, day: string) =>
  `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
