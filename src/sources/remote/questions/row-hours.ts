/**
 * Evaluates the time fields of a scrub row at an instant: whether it is inside the row's calling window,
 * and when that changes. The calling-hours check decides whether a call is lawful.
 */

import type { ScrubRow } from '../../../domain/scrub-row.js'
import type { Instant } from '../../../domain/time/clock.js'
import { getWeekday, msPerDay } from '../../../domain/time/dates.js'
import {
  type DayWindow,
  findWindowForDay,
  parseDayWindow,
  type WeekWindows,
} from '../../../domain/time/week-windows.js'

/** In the local time given by the row's `UTCOffset`. */
export interface RowHours {
  readonly isInside: boolean
  /** The next instant at which the row may change: an edge of the window, or the local midnight. */
  readonly nextEdge: Instant
  /** When the window opens later on the same local day; absent if it does not or that is unknown. */
  readonly opensAt: Instant | undefined
}

const minuteMs = 60_000

/** Clocks change at 2 a.m. (15 U.S.C. 260a), and the row's offset is the current one. */
const clockChangeSecond = 2 * 3600
const sunday = 0

/** The offsets of all places on earth: UTC-12 to UTC+14. */
const minOffsetMinutes = -720
const maxOffsetMinutes = 840

/**
 * `undefined` if the row has no valid window, or no offset because the candidate places differ.
 */
export function computeRowHours(
  { callingWindow, utcOffsetMinutes }: Pick<ScrubRow, 'callingWindow' | 'utcOffsetMinutes'>,
  at: Instant,
): RowHours | undefined {
  const week = parseCallingWindow(callingWindow)
  if (!week || utcOffsetMinutes === undefined) return undefined
  if (utcOffsetMinutes < minOffsetMinutes || utcOffsetMinutes > maxOffsetMinutes) return undefined
  const local = at + utcOffsetMinutes * minuteMs
  const day = Math.floor(local / msPerDay)
  const second = (local - day * msPerDay) / 1000
  const window = findWindowForDay(week, day)
  const instantOf = (secondOfDay: number) => at + (secondOfDay - second) * 1000
  return {
    isInside: window !== undefined && second >= window.start && second < window.end,
    nextEdge: instantOf(findNextEdge(window, second)),
    opensAt: isOpeningKnown(window, second, day) ? instantOf(window.start) : undefined,
  }
}

/**
 * The `CallingWindow` of a row: Monday to Friday, Saturday, Sunday, such as
 * `8:00-21:00;9:00-12:00;0:00-0:00`, where a zero-length window closes the day. `undefined` for anything
 * else.
 */
export function parseCallingWindow(text: string): WeekWindows | undefined {
  const parts = text.split(';').map(parseDayPart)
  const [monFri, sat, sun] = parts
  if (parts.length !== 3 || !monFri || !sat || !sun) return undefined
  return { monFri: monFri.window, sat: sat.window, sun: sun.window }
}

/** The start of the next minute, used when the time of the next change is unknown. */
export function getNextFullMinute(at: Instant): Instant {
  return getNextMultiple(at, minuteMs)
}

/** Calling-hours rules change on quarters of an hour. */
export function getNextFullQuarter(at: Instant): Instant {
  return getNextMultiple(at, 15 * minuteMs)
}

function getNextMultiple(at: Instant, step: number): Instant {
  return (Math.floor(at / step) + 1) * step
}

function parseDayPart(part: string): { readonly window: DayWindow | undefined } | undefined {
  const [start = '', end = '', ...more] = part.trim().split('-')
  if (more.length > 0) return undefined
  const padded = [start, end].map((time) => time.padStart(5, '0'))
  if (padded[0] === padded[1]) {
    return /^(?:[01]\d|2[0-4]):[0-5]\d$/.test(padded[0] ?? '') ? { window: undefined } : undefined
  }
  const window = parseDayWindow(padded.join('-'))
  return window && { window }
}

function findNextEdge(window: DayWindow | undefined, second: number): number {
  const edges = [clockChangeSecond, window?.start, window?.end].filter(
    (edge) => edge !== undefined && edge > second,
  )
  return Math.min(...edges.map(Number), 86_400)
}

/** On a Sunday, before the hour in which clocks may change, the offset later that day is unknown. */
function isOpeningKnown(
  window: DayWindow | undefined,
  second: number,
  day: number,
): window is DayWindow {
  if (window === undefined || second >= window.start) return false
  return (
    getWeekday(day) !== sunday || second >= clockChangeSecond || window.start < clockChangeSecond
  )
}
