/** What the law says of opt-outs: until when they must be honored, and what may still be sent. Rows of `calling-rules.yaml`. */
import type { Instant, LocalDay } from '../domain/time/clock.js'
import { getWeekday, isWithinDays, msPerHour, toUtcDay } from '../domain/time/dates.js'
import type { HolidayCalendar } from './hours/holidays.js'
import type { NamedRow } from './law-row.js'

interface RevocationRow extends NamedRow {
  readonly businessDays: number
  readonly confirmationMinutes: number
  /** The first day is not settled: an operator enters it. */
  readonly datedByOperator: boolean
}

export interface RevocationEntry {
  /** By which the day of receipt is found. */
  readonly utcOffsetHours: number
  /** Keys of the holidays that are no business days. */
  readonly holidays: readonly string[]
  readonly observedPolicy: string
  readonly rules: readonly RevocationRow[]
}

/** The days on which rules are in force whose day the file does not know, as an operator has entered them. */
export type OperatorDates = readonly { readonly rule: string; readonly from: LocalDay }[]

export interface RevocationTerms {
  /** The last day on which the law would have the opt-out honored. */
  readonly lastDay: LocalDay
  /** Until when one text may confirm it. */
  readonly confirmBefore: Instant
  readonly rules: readonly Pick<RevocationRow, 'id' | 'citation'>[]
}

const msPerMinute = 60_000

export class RevocationRules {
  readonly #entry: RevocationEntry
  readonly #holidays: HolidayCalendar

  constructor(entry: RevocationEntry, holidays: HolidayCalendar) {
    this.#entry = entry
    this.#holidays = holidays
  }

  /** Those whose day an operator has to enter. */
  get undatedRules(): readonly Pick<RevocationRow, 'id' | 'citation'>[] {
    return this.#entry.rules.filter(({ datedByOperator }) => datedByOperator)
  }

  /** Of all rules that are in force on the day of receipt, the strictest; `undefined` if there is none. */
  find(receivedAt: Instant, dates: OperatorDates): RevocationTerms | undefined {
    const day = toUtcDay(receivedAt + this.#entry.utcOffsetHours * msPerHour)
    const rules = this.#entry.rules.filter((rule) => isInForce(rule, day, dates))
    if (rules.length === 0) return undefined
    const businessDays = Math.min(...rules.map((rule) => rule.businessDays))
    const minutes = Math.min(...rules.map((rule) => rule.confirmationMinutes))
    return {
      lastDay: this.#countBusinessDays(day, businessDays),
      confirmBefore: receivedAt + minutes * msPerMinute,
      rules: rules.map(({ id, citation }) => ({ id, citation })),
    }
  }

  /** The first one is the first business day after `day`. */
  #countBusinessDays(day: LocalDay, count: number): LocalDay {
    let last = day
    for (let counted = 0; counted < count; ) {
      last += 1
      if (this.#isBusinessDay(last)) counted += 1
    }
    return last
  }

  #isBusinessDay(day: LocalDay): boolean {
    const weekday = getWeekday(day)
    return weekday !== 0 && weekday !== 6 && this.#holidays.findName(day) === undefined
  }
}

function isInForce(rule: RevocationRow, day: LocalDay, dates: OperatorDates): boolean {
  if (!rule.datedByOperator) return isWithinDays(rule, day)
  return dates.some(({ rule: id, from }) => id === rule.id && day >= from)
}
