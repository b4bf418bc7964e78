/** What the law says of opt-outs: until when they must be honored, and what may still be sent. Rows of `calling-rules.yaml`. */
import { z } from 'zod'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import {
  type DayRange,
  getWeekday,
  isWithinDays,
  msPerHour,
  toUtcDay,
} from '../../domain/time/dates.js'
import type { HolidayCalendar } from './holidays.js'

interface RevocationFields {
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
  readonly holiday: z.ZodType<string, string>
  readonly observedPolicy: z.ZodType<string, string>
}

export const revocationSchema = (fields: RevocationFields) => {
  const { day, text, confidence, holiday, observedPolicy } = fields
  const rule = z
    .strictObject({
      id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
      businessDays: z.int().min(1, 'must be 1 or more').max(100, 'must be 100 or less'),
      confirmationMinutes: z.int().min(0, 'must be 0 or more').max(60, 'must be 60 or less'),
      datedByOperator: z.boolean().default(false),
      from: day.optional(),
      until: day.optional(),
      citation: text,
      confidence,
      notes: text.optional(),
    })
    .refine(
      ({ datedByOperator, from, until }) => !datedByOperator || (from ?? until) === undefined,
      {
        path: ['datedByOperator'],
        error: 'goes without from and until',
      },
    )
  return z.strictObject({
    utcOffsetHours: z.int().min(-12, 'must be -12 to 14').max(14, 'must be -12 to 14'),
    holidays: z.array(holiday),
    observedPolicy,
    rules: z.array(rule),
  })
}

type RevocationEntry = z.output<ReturnType<typeof revocationSchema>>
type RevocationRow = RevocationEntry['rules'][number]

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
  if (!rule.datedByOperator) return isWithinDays(rule satisfies DayRange, day)
  return dates.some(({ rule: id, from }) => id === rule.id && day >= from)
}
