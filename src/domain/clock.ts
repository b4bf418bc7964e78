/**
 * Time as an argument: everything that needs "now" is handed a {@link Clock}.
 * The only file that reads the machine's time or builds a `Date`.
 */

import { EventLoopWatch } from './event-loop.js'

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number

/** Days since 1970-01-01 on a local calendar; Sunday is weekday 0. */
export type LocalDay = number

export interface Clock {
  now(): Instant
}

export const systemClock: Clock = { now: () => Date.now() }

/** A clock that stands at one instant: what-if questions and the sandbox setting use it. */
export function fixedClock(at: Instant): Clock {
  return { now: () => at }
}

/**
 * Stamps for the order of writes: the clock's time, but each later than the one before, also when
 * the clock stands still or two come in one millisecond.
 */
export function orderedStamps(clock: Clock): Clock {
  let last = Number.NEGATIVE_INFINITY
  return {
    now() {
      last = Math.max(clock.now(), last + 1)
      return last
    },
  }
}

/**
 * A clock that never goes back: while the other is set back it goes on from its latest reading, by
 * the monotonic clock. For deadlines that must not be undone by setting the time.
 */
export function steadyClock(clock: Clock, timers: Pick<Timers, 'monotonicMs'>): Clock {
  let aheadMs = Number.NEGATIVE_INFINITY
  return {
    now() {
      const elapsedMs = timers.monotonicMs()
      aheadMs = Math.max(aheadMs, clock.now() - elapsedMs)
      return Math.floor(elapsedMs + aheadMs)
    },
  }
}

const isoInstantPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i

/**
 * Reads an ISO 8601 date-time; without an offset it is UTC. A date alone is its midnight in UTC.
 * Gives `undefined` for anything else, including days that do not exist.
 */
export function parseInstant(text: string): Instant | undefined {
  const match = isoInstantPattern.exec(text.trim())
  if (!match) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', zone] = match
  const dayNumber = localDay(Number(year), Number(month), Number(day))
  if (dayNumber === undefined) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const offsetMinutes = parseOffset(zone)
  if (offsetMinutes === undefined) return undefined
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const millis = Math.floor(Number(`0.${fraction}`) * 1000)
  return dayNumber * 86_400_000 + seconds * 1000 + millis - offsetMinutes * 60_000
}

function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined || text.toUpperCase() === 'Z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 14 || minutes > 59) return undefined
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

const httpDatePattern =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT$/

const monthNames = 'JanFebMarAprMayJunJulAugSepOctNovDec'

/** Reads a date of an HTTP header, `Sun, 06 Nov 1994 08:49:37 GMT`; `undefined` for anything else. */
export function parseHttpDate(text: string): Instant | undefined {
  const [, day, monthName = '-', year, time] = httpDatePattern.exec(text) ?? []
  const at = monthNames.indexOf(monthName)
  if (at < 0 || at % 3 !== 0) return undefined
  const month = String(at / 3 + 1).padStart(2, '0')
  return parseInstant(`${year}-${month}-${day}T${time}Z`)
}

/** `2026-11-24T13:00:00Z`; milliseconds are shown only when there are any. */
export function formatInstant(at: Instant): string {
  const text = new Date(at).toISOString()
  return text.endsWith('.000Z') ? `${text.slice(0, 19)}Z` : text
}

/** The day number of a calendar date, or `undefined` when there is no such date. */
export function localDay(year: number, month: number, day: number): LocalDay | undefined {
  const millis = Date.UTC(year, month - 1, day)
  const back = new Date(millis)
  const exists = back.getUTCMonth() === month - 1 && back.getUTCDate() === day && year >= 1000
  return exists ? millis / 86_400_000 : undefined
}

/** `YYYY-MM-DD` of a local day. */
export function formatDay(day: LocalDay): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10)
}

/** Reads `YYYY-MM-DD`, `MM/DD/YYYY` or `YYYYMMDD`; `undefined` for anything else. */
export function parseDay(text: string): LocalDay | undefined {
  const iso = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? /^(\d{4})(\d{2})(\d{2})$/.exec(text)
  if (iso) return localDay(Number(iso[1]), Number(iso[2]), Number(iso[3]))
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text)
  return american
    ? localDay(Number(american[3]), Number(american[1]), Number(american[2]))
    : undefined
}

/** The year, month (1-12) and day of month of a local day. */
export function calendarDate(day: LocalDay): { year: number; month: number; day: number } {
  const date = new Date(day * 86_400_000)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** Sunday 0 to Saturday 6. */
export function weekdayOf(day: LocalDay): number {
  return (((day + 4) % 7) + 7) % 7
}

/** The day a number of months later; the last day of a shorter month stands in for a missing one. */
export function addMonths(day: LocalDay, months: number): LocalDay {
  const { year, month, day: dayOfMonth } = calendarDate(day)
  const firstOfTarget = Date.UTC(year, month - 1 + months, 1)
  const target = new Date(firstOfTarget)
  const lastDay = new Date(
    Date.UTC(target.getUTCFullYear(), target.getUTCMonth() + 1, 0),
  ).getUTCDate()
  return firstOfTarget / 86_400_000 + Math.min(dayOfMonth, lastDay) - 1
}

/**
 * Whether an instant lies within some years of another. It is counted in whole UTC days on the
 * calendar, so the same date that many years on or back is within; what is no instant is not.
 */
export function isWithinYears(at: Instant, of: Instant, years: number): boolean {
  const [day, middle] = [Math.floor(at / 86_400_000), Math.floor(of / 86_400_000)]
  return day >= addMonths(middle, -years * 12) && day <= addMonths(middle, years * 12)
}

/** Seconds on a clock that never jumps; only differences mean anything. For measuring, not for rules. */
export function monotonicSeconds(): number {
  return performance.now() / 1000
}

/** Waiting as an argument: whoever waits is handed these, so that hours pass in a test at once. */
export interface Timers {
  /** Milliseconds on a clock that never jumps; only differences mean anything. */
  monotonicMs(): number
  /** Runs once after the wait; gives the function that calls it off. */
  after(ms: number, run: () => void): () => void
}

export const systemTimers: Timers = {
  monotonicMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** The event loop of this process. Its samples neither keep the process alive nor wake the loop. */
export function systemEventLoop(): EventLoopWatch {
  return new EventLoopWatch({
    monotonicMs: () => performance.now(),
    idleMs: () => performance.nodeTiming.idleTime,
    onCheckPhase: (run) => void setImmediate(run).unref(),
  })
}
