/**
 * What the clock fields of a scrub row say about an instant: whether it is inside the row's calling
 * window, and when that changes. Whether a call is lawful is answered by the calling hours.
 */
import { type Instant, weekdayOf } from '../../domain/clock.js'
import type { ScrubRow } from '../../domain/scrub-row.js'
import {
  type DayWindow,
  parseDayWindow,
  type WeekWindows,
  windowOn,
} from '../../domain/week-windows.js'

/** By the clock that the row's `UTCOffset` gives. */
export interface RowHours {
  readonly inside: boolean
  /** The next instant at which the row may change: an edge of the window, or the local midnight. */
  readonly nextEdge: Instant
  /** When the window opens later on the same local day; absent when it does not, or cannot be told. */
  readonly opensAt: Instant | undefined
}

const minuteMs = 60_000
const dayMs = 86_400_000

/** Clocks are changed at two in the morning (15 U.S.C. 260a), and the row's offset is of now. */
const clockChange = 2 * 3600
const sunday = 0

/** From UTC-12 to UTC+14; no place on earth is beyond. */
const farthestWest = -720
const farthestEast = 840

/**
 * Absent when the row has no window that can be read, or no offset (the possible places of the
 * number differ).
 */
export function rowHours(
  { callingWindow, utcOffsetMinutes }: Pick<ScrubRow, 'callingWindow' | 'utcOffsetMinutes'>,
  at: Instant,
): RowHours | undefined {
  const week = parseWeek(callingWindow)
  if (!week || utcOffsetMinutes === undefined) return undefined
  if (utcOffsetMinutes < farthestWest || utcOffsetMinutes > farthestEast) return undefined
  const local = at + utcOffsetMinutes * minuteMs
  const day = Math.floor(local / dayMs)
  const second = (local - day * dayMs) / 1000
  const window = windowOn(week, day)
  const instantOf = (secondOfDay: number) => at + (secondOfDay - second) * 1000
  return {
    inside: window !== undefined && second >= window.start && second < window.end,
    nextEdge: instantOf(nextEdge(window, second)),
    opensAt: isOpeningKnown(window, second, day) ? instantOf(window.start) : undefined,
  }
}

/**
 * The `CallingWindow` of a row: Monday to Friday, Saturday, Sunday, such as
 * `8:00-21:00;9:00-12:00;0:00-0:00`, where a window without length closes the day. `undefined` for
 * anything else.
 */
export function parseWeek(text: string): WeekWindows | undefined {
  const parts = text.split(';').map(parsePart)
  const [monFri, sat, sun] = parts
  if (parts.length !== 3 || !monFri || !sat || !sun) return undefined
  return { monFri: monFri.window, sat: sat.window, sun: sun.window }
}

/** The start of the next full minute: as long as an answer holds that changes nobody knows when. */
export function nextFullMinute(at: Instant): Instant {
  return nextMultiple(at, minuteMs)
}

/** Rules of calling hours change on full quarters of an hour. */
export function nextFullQuarter(at: Instant): Instant {
  return nextMultiple(at, 15 * minuteMs)
}

function nextMultiple(at: Instant, step: number): Instant {
  return (Math.floor(at / step) + 1) * step
}

function parsePart(part: string): { readonly window: DayWindow | undefined } | undefined {
  const [start = '', end = '', ...more] = part.trim().split('-')
  if (more.length > 0) return undefined
  const padded = [start, end].map((time) => time.padStart(5, '0'))
  if (padded[0] === padded[1]) {
    return /^(?:[01]\d|2[0-4]):[0-5]\d$/.test(padded[0] ?? '') ? { window: undefined } : undefined
  }
  const window = parseDayWindow(padded.join('-'))
  return window && { window }
}

function nextEdge(window: DayWindow | undefined, second: number): number {
  const edges = [clockChange, window?.start, window?.end].filter(
    (edge) => edge !== undefined && edge > second,
  )
  return Math.min(...edges.map(Number), 86_400)
}

/** On a Sunday before the clocks may have changed, the offset of later that day is not known. */
function isOpeningKnown(
  window: DayWindow | undefined,
  second: number,
  day: number,
): window is DayWindow {
  if (window === undefined || second >= window.start) return false
  return weekdayOf(day) !== sunday || second >= clockChange || window.start < clockChange
}
