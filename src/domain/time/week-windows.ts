/**
 * Calling windows of a week in the called party's local time, and the arithmetic on them. The
 * calling-hours rules decide which window applies on which day.
 */
import type { LocalDay } from './clock.js'
import { getWeekday } from './dates.js'

/** Seconds of a local day; the start is inclusive, the end exclusive and at most 86,400. */
export interface DayWindow {
  readonly start: number
  readonly end: number
}

/** The windows of a week; `undefined` means closed. */
export interface WeekWindows {
  readonly monFri: DayWindow | undefined
  readonly sat: DayWindow | undefined
  readonly sun: DayWindow | undefined
}

/**
 * A project's own calling hours in one region (spec, "Calling hours", rule 1). They apply from
 * `effectiveFrom` to `effectiveUntil`, both inclusive; without these days, always.
 */
export interface ProjectHours extends WeekWindows {
  readonly region: string
  readonly effectiveFrom?: LocalDay | undefined
  readonly effectiveUntil?: LocalDay | undefined
}

export const closedWeek: WeekWindows = { monFri: undefined, sat: undefined, sun: undefined }

/** The window of a local day by its weekday; `undefined` when closed or when it ends before it starts. */
export function findWindowForDay(week: WeekWindows, day: LocalDay): DayWindow | undefined {
  const weekday = getWeekday(day)
  const window = weekday === 0 ? week.sun : weekday === 6 ? week.sat : week.monFri
  return window && window.start < window.end ? window : undefined
}

/** The overlap of two windows; `undefined` when there is none. */
export function intersectWindows(
  a: DayWindow | undefined,
  b: DayWindow | undefined,
): DayWindow | undefined {
  if (!a || !b) return undefined
  const start = Math.max(a.start, b.start)
  const end = Math.min(a.end, b.end)
  return start < end ? { start, end } : undefined
}

export function intersectWeeks(a: WeekWindows, b: WeekWindows): WeekWindows {
  return {
    monFri: intersectWindows(a.monFri, b.monFri),
    sat: intersectWindows(a.sat, b.sat),
    sun: intersectWindows(a.sun, b.sun),
  }
}

const windowPattern = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/

/** Reads `08:00-20:00`; `24:00` may end a window. `undefined` for anything else. */
export function parseDayWindow(text: string): DayWindow | undefined {
  const match = windowPattern.exec(text)
  if (!match) return undefined
  const start = parseSecondOfDay(match[1], match[2])
  const end = parseSecondOfDay(match[3], match[4])
  return start < end && end <= 86_400 ? { start, end } : undefined
}

/** NaN for minutes above 59, so that the caller's comparisons fail. */
function parseSecondOfDay(hours: string | undefined, minutes: string | undefined): number {
  return Number(minutes) > 59 ? Number.NaN : Number(hours) * 3600 + Number(minutes) * 60
}

/** Formats a window as `08:00-20:00`. */
export function formatDayWindow({ start, end }: DayWindow): string {
  return `${formatClockTime(start).padStart(5, '0')}-${formatClockTime(end).padStart(5, '0')}`
}

/**
 * The `CallingWindow` of a scrub row: Monday to Friday, Saturday, Sunday, such as
 * `9:00-19:00;9:00-12:00;0:00-0:00`. A closed day is `0:00-0:00`.
 */
export function formatWeek(week: WeekWindows): string {
  return [week.monFri, week.sat, week.sun]
    .map((window) =>
      window && window.start < window.end
        ? `${formatClockTime(window.start)}-${formatClockTime(window.end)}`
        : '0:00-0:00',
    )
    .join(';')
}

function formatClockTime(second: number): string {
  const minutes = Math.floor(second / 60)
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
}
