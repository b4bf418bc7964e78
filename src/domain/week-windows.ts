/**
 * Calling windows of a week on the clock of the called party, and the arithmetic on them.
 * Whose window counts on which day is the business of the calling-hours rules.
 */
import type { LocalDay } from './clock.js'
import { weekdayOf } from './clock.js'

/** Seconds of a local day: the start second is inside, the end second outside. End <= 86,400. */
export interface DayWindow {
  readonly start: number
  readonly end: number
}

/** The windows of a week; `undefined` closes the day. */
export interface WeekWindows {
  readonly monFri: DayWindow | undefined
  readonly sat: DayWindow | undefined
  readonly sun: DayWindow | undefined
}

/**
 * A project's own calling hours in one region (spec, "Calling hours", rule 1). They hold from
 * `effectiveFrom` to `effectiveUntil`, both days included; without them, always.
 */
export interface ProjectHours extends WeekWindows {
  readonly region: string
  readonly effectiveFrom?: LocalDay | undefined
  readonly effectiveUntil?: LocalDay | undefined
}

export const closedWeek: WeekWindows = { monFri: undefined, sat: undefined, sun: undefined }

/** The window of a local day by its weekday. A window that ends before it starts is closed. */
export function windowOn(week: WeekWindows, day: LocalDay): DayWindow | undefined {
  const weekday = weekdayOf(day)
  const window = weekday === 0 ? week.sun : weekday === 6 ? week.sat : week.monFri
  return window && window.start < window.end ? window : undefined
}

/** What both windows allow; `undefined` when that is nothing. */
export function intersect(
  one: DayWindow | undefined,
  other: DayWindow | undefined,
): DayWindow | undefined {
  if (!one || !other) return undefined
  const start = Math.max(one.start, other.start)
  const end = Math.min(one.end, other.end)
  return start < end ? { start, end } : undefined
}

export function intersectWeeks(one: WeekWindows, other: WeekWindows): WeekWindows {
  return {
    monFri: intersect(one.monFri, other.monFri),
    sat: intersect(one.sat, other.sat),
    sun: intersect(one.sun, other.sun),
  }
}

const windowPattern = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/

/** Reads `08:00-20:00`; `24:00` may end a window. `undefined` for anything else. */
export function parseDayWindow(text: string): DayWindow | undefined {
  const match = windowPattern.exec(text)
  if (!match) return undefined
  const start = secondOf(match[1], match[2])
  const end = secondOf(match[3], match[4])
  return start < end && end <= 86_400 ? { start, end } : undefined
}

/** Not a number for minutes over 59, which makes every comparison with it false. */
function secondOf(hours: string | undefined, minutes: string | undefined): number {
  return Number(minutes) > 59 ? Number.NaN : Number(hours) * 3600 + Number(minutes) * 60
}

/** `08:00-20:00`, for people. */
export function formatDayWindow({ start, end }: DayWindow): string {
  return `${clockText(start).padStart(5, '0')}-${clockText(end).padStart(5, '0')}`
}

/**
 * The `CallingWindow` of a scrub row: Monday to Friday, Saturday, Sunday, such as
 * `9:00-19:00;9:00-12:00;0:00-0:00`. A closed day is `0:00-0:00`.
 */
export function formatWeek(week: WeekWindows): string {
  return [week.monFri, week.sat, week.sun]
    .map((window) =>
      window && window.start < window.end
        ? `${clockText(window.start)}-${clockText(window.end)}`
        : '0:00-0:00',
    )
    .join(';')
}

function clockText(second: number): string {
  const minutes = Math.floor(second / 60)
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
}
