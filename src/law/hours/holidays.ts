/**
 * Computes the local days of holidays by rule, for any year. Which holidays a region observes, and what
 * they mean for a call, is decided elsewhere.
 */
import type { LocalDay } from '../../domain/time/clock.js'
import {
  type DayRange,
  getWeekday,
  isWithinDays,
  toCalendarDate,
  toLocalDay,
} from '../../domain/time/dates.js'

/** Sunday 0 to Saturday 6. */
type Weekday = number

export type HolidayRule =
  /** The same date every year; `by-region` follows the region's observed policy. */
  | {
      readonly type: 'fixed'
      readonly month: number
      readonly day: number
      readonly observed: 'by-region' | 'never'
    }
  /** Moved by `shift[weekday of the date]` days; the moved day replaces the date. */
  | {
      readonly type: 'fixed-shifted'
      readonly month: number
      readonly day: number
      readonly shift: readonly number[]
    }
  /** The nth such weekday of a month, -1 for the last, plus `offset` days. */
  | {
      readonly type: 'nth-weekday'
      readonly month: number
      readonly weekday: Weekday
      readonly nth: number
      readonly offset: number
    }
  /** Days from Easter Sunday of the Gregorian calendar. */
  | { readonly type: 'easter-offset'; readonly days: number }
  /** The last such weekday before a date, excluding the date itself. */
  | {
      readonly type: 'weekday-before'
      readonly month: number
      readonly day: number
      readonly weekday: Weekday
    }
  /** The first such weekday after a date, excluding the date itself. */
  | {
      readonly type: 'weekday-after'
      readonly month: number
      readonly day: number
      readonly weekday: Weekday
      readonly years: 'every' | 'even'
    }

type ObservedShift = 'preceding-friday' | 'following-monday'

/** Which additional days are closed if a fixed date falls on a weekend; the date itself stays closed. */
export interface ObservedPolicy {
  readonly saturday: readonly ObservedShift[]
  readonly sunday: readonly ObservedShift[]
}

/** A holiday as observed by one region; applies only to dates from `from` to `until`, inclusive. */
export interface RegionHoliday extends DayRange {
  readonly name: string
  readonly rule: HolidayRule
}

/** The closed days of one region. Each year is computed once. */
export class HolidayCalendar {
  readonly #holidays: readonly RegionHoliday[]
  readonly #policy: ObservedPolicy
  readonly #years = new Map<number, ReadonlyMap<LocalDay, string>>()

  constructor(holidays: readonly RegionHoliday[], policy: ObservedPolicy) {
    this.#holidays = holidays
    this.#policy = policy
  }

  /** The name of the holiday that closes a day, if any. */
  findName(day: LocalDay): string | undefined {
    return this.#holidays.length === 0
      ? undefined
      : this.listClosedDays(toCalendarDate(day).year).get(day)
  }

  /** All closed days of a calendar year, with the names of their holidays. */
  listClosedDays(year: number): ReadonlyMap<LocalDay, string> {
    const known = this.#years.get(year)
    if (known) return known
    const days = this.#compute(year)
    this.#years.set(year, days)
    return days
  }

  /** Includes neighboring years, since January 1 on a Saturday closes the December 31 before it. */
  #compute(year: number): ReadonlyMap<LocalDay, string> {
    const kept = [year - 1, year, year + 1].flatMap((at) =>
      this.#holidays.flatMap((holiday) => {
        const day = findRegionHolidayDate(holiday, at)
        return day === undefined ? [] : [{ holiday, day }]
      }),
    )
    const actual = kept.map(({ holiday, day }) => [day, holiday.name] as const)
    const observed = kept.flatMap(({ holiday, day }) =>
      listObservedDays(holiday.rule, day, this.#policy).map(
        (moved) => [moved, `${holiday.name} (observed)`] as const,
      ),
    )
    // If a day has several names, the first is used, and an actual holiday before an observed one.
    const days = new Map([...actual, ...observed].reverse())
    return new Map([...days].filter(([day]) => toCalendarDate(day).year === year))
  }
}

function findRegionHolidayDate(holiday: RegionHoliday, year: number): LocalDay | undefined {
  const day = findHolidayDate(holiday.rule, year)
  return day !== undefined && isWithinDays(holiday, day) ? day : undefined
}

/** The day of a holiday in a year; `undefined` when that year has none. */
export function findHolidayDate(rule: HolidayRule, year: number): LocalDay | undefined {
  switch (rule.type) {
    case 'fixed':
      return toLocalDay(year, rule.month, rule.day)
    case 'fixed-shifted': {
      const day = toLocalDay(year, rule.month, rule.day)
      return day === undefined ? undefined : day + (rule.shift[getWeekday(day)] ?? 0)
    }
    case 'nth-weekday':
      return findNthWeekday(year, rule) + rule.offset
    case 'easter-offset':
      return computeEasterSunday(year) + rule.days
    case 'weekday-before': {
      const day = requireExistingDay(year, rule.month, rule.day) - 1
      return day - ((getWeekday(day) - rule.weekday + 7) % 7)
    }
    case 'weekday-after': {
      if (rule.years === 'even' && year % 2 !== 0) return undefined
      const day = requireExistingDay(year, rule.month, rule.day) + 1
      return day + ((rule.weekday - getWeekday(day) + 7) % 7)
    }
  }
}

function findNthWeekday(
  year: number,
  { month, weekday, nth }: { month: number; weekday: Weekday; nth: number },
): LocalDay {
  if (nth === -1) {
    const next =
      month === 12 ? requireExistingDay(year + 1, 1, 1) : requireExistingDay(year, month + 1, 1)
    const last = next - 1
    return last - ((getWeekday(last) - weekday + 7) % 7)
  }
  const first = requireExistingDay(year, month, 1)
  return first + ((weekday - getWeekday(first) + 7) % 7) + (nth - 1) * 7
}

/** Easter Sunday by the anonymous Gregorian algorithm (Meeus, Jones and Butcher). */
function computeEasterSunday(year: number): LocalDay {
  const a = year % 19
  const b = Math.floor(year / 100)
  const c = year % 100
  const g = Math.floor((8 * b + 13) / 25)
  const h = (19 * a + b - Math.floor(b / 4) - g + 15) % 30
  const l = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7
  const m = Math.floor((a + 11 * h + 22 * l) / 451)
  const sum = h + l - 7 * m + 114
  return requireExistingDay(year, Math.floor(sum / 31), (sum % 31) + 1)
}

function listObservedDays(rule: HolidayRule, day: LocalDay, policy: ObservedPolicy): LocalDay[] {
  if (rule.type !== 'fixed' || rule.observed === 'never') return []
  const weekday = getWeekday(day)
  if (weekday === 6) {
    return policy.saturday.map((shift) => day + (shift === 'preceding-friday' ? -1 : 2))
  }
  if (weekday === 0) {
    return policy.sunday.map((shift) => day + (shift === 'preceding-friday' ? -2 : 1))
  }
  return []
}

function requireExistingDay(year: number, month: number, day: number): LocalDay {
  const found = toLocalDay(year, month, day)
  if (found === undefined) throw new RangeError(`there is no day ${year}-${month}-${day}`)
  return found
}
