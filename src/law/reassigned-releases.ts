import type { Release } from '../domain/lookups.js'
import type { Instant } from '../domain/time/clock.js'
import {
  addMonths,
  type DayRange,
  isWithinDays,
  msPerDay,
  toCalendarDate,
  toLocalDay,
  toUtcDay,
} from '../domain/time/dates.js'

/** When the national database gets new data, on the UTC days of a range. */
export interface ReleaseRule extends DayRange {
  /** On which carriers report disconnects. */
  readonly dayOfMonth: number
  /** After these, a question is certainly answered from the release. */
  readonly daysUntilInUse: number
}

/** The release of the national database that answers a question at an instant, and when the next one does. */
export function findRelease(rules: readonly ReleaseRule[], at: Instant): Release {
  const today = toUtcDay(at)
  const rule = rules.find((one) => isWithinDays(one, today))
  if (rule === undefined) return { on: undefined, replacedAt: at }
  const { dayOfMonth, daysUntilInUse, until = Number.POSITIVE_INFINITY } = rule
  const { year, month } = toCalendarDate(today)
  const ofMonth = toLocalDay(year, month, dayOfMonth) ?? today
  const isInUse = today >= ofMonth + daysUntilInUse
  const on = isInUse ? ofMonth : addMonths(ofMonth, -1)
  return { on, replacedAt: Math.min(addMonths(on, 1) + daysUntilInUse, until + 1) * msPerDay }
}
