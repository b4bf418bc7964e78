import type { Instant, LocalDay } from './clock.js'

export const msPerMinute = 60_000
export const msPerHour = 3_600_000
export const msPerDay = 86_400_000

/** The day of an instant in UTC. */
export function toUtcDay(at: Instant): LocalDay {
  return Math.floor(at / msPerDay)
}

/** The earliest day of an instant anywhere, UTC-12. */
export function toEarliestDay(at: Instant): LocalDay {
  return toUtcDay(at - 12 * msPerHour)
}

const isoInstantPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i

/**
 * Parses an ISO 8601 date-time; without an offset it is UTC, and a date only is its midnight in UTC.
 * Returns `undefined` for anything else, including days that do not exist.
 */
export function parseInstant(text: string): Instant | undefined {
  const match = isoInstantPattern.exec(text.trim())
  if (!match) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', zone] = match
  const dayNumber = toLocalDay(Number(year), Number(month), Number(day))
  if (dayNumber === undefined) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const offsetMinutes = parseOffset(zone)
  if (offsetMinutes === undefined) return undefined
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const millis = Math.floor(Number(`0.${fraction}`) * 1000)
  return dayNumber * msPerDay + seconds * 1000 + millis - offsetMinutes * 60_000
}

function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined || text.toUpperCase() === 'Z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 14 || minutes > 59) return undefined
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

let httpDateSecond = Number.NaN
let httpDate = ''

/** The date of an HTTP header, `Tue, 24 Nov 2026 13:00:00 GMT`. */
export function formatHttpDate(at: Instant): string {
  const second = Math.floor(at / 1000)
  // Thousands of answers of one second have the same.
  if (second !== httpDateSecond) {
    httpDate = new Date(second * 1000).toUTCString()
    httpDateSecond = second
  }
  return httpDate
}

/** Of the seconds that were formatted last: most instants of a decision are in one of a few. */
const secondTexts = new Map<number, string>()
const maxSecondTexts = 100
const msTexts = Array.from({ length: 1_000 }, (_, ms) =>
  ms === 0 ? 'Z' : `.${String(ms).padStart(3, '0')}Z`,
)

/** `2026-11-24T13:00:00Z`; milliseconds are shown only when there are any. */
export function formatInstant(at: Instant): string {
  const wholeMs = Math.trunc(at)
  const second = Math.floor(wholeMs / 1000)
  let text = secondTexts.get(second)
  if (text === undefined) {
    text = new Date(second * 1000).toISOString().slice(0, -'.000Z'.length)
    if (secondTexts.size >= maxSecondTexts) secondTexts.clear()
    secondTexts.set(second, text)
  }
  return `${text}${msTexts[wholeMs - second * 1000]}`
}

/** The day number of a calendar date, or `undefined` when there is no such date. */
export function toLocalDay(year: number, month: number, day: number): LocalDay | undefined {
  const millis = Date.UTC(year, month - 1, day)
  const back = new Date(millis)
  const exists = back.getUTCMonth() === month - 1 && back.getUTCDate() === day && year >= 1000
  return exists ? millis / msPerDay : undefined
}

/** `YYYY-MM-DD` of a local day. */
export function formatDay(day: LocalDay): string {
  return new Date(day * msPerDay).toISOString().slice(0, 10)
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** `Mon 2026-11-23`. */
export function formatWithWeekday(day: LocalDay): string {
  return `${weekdays[getWeekday(day)]} ${formatDay(day)}`
}

/** Parses `YYYY-MM-DD`, `MM/DD/YYYY` or `YYYYMMDD`; `undefined` for anything else. */
export function parseDay(text: string): LocalDay | undefined {
  const iso = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? /^(\d{4})(\d{2})(\d{2})$/.exec(text)
  if (iso) return toLocalDay(Number(iso[1]), Number(iso[2]), Number(iso[3]))
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text)
  return american
    ? toLocalDay(Number(american[3]), Number(american[1]), Number(american[2]))
    : undefined
}

/** Local days, the first and last of which are included; an absent one is open. */
export interface DayRange {
  readonly from?: LocalDay | undefined
  readonly until?: LocalDay | undefined
}

export function isWithinDays({ from, until }: DayRange, day: LocalDay): boolean {
  return (from === undefined || from <= day) && (until === undefined || day <= until)
}

/** The year, month (1-12) and day of month of a local day. */
export function toCalendarDate(day: LocalDay): { year: number; month: number; day: number } {
  const date = new Date(day * msPerDay)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** Sunday 0 to Saturday 6. */
export function getWeekday(day: LocalDay): number {
  return (((day + 4) % 7) + 7) % 7
}

/** The day a number of months later; the last day of a shorter month replaces a missing one. */
export function addMonths(day: LocalDay, months: number): LocalDay {
  const from = toCalendarDate(day)
  const month = from.month - 1 + months
  // Day 0 of a month is the last day of the month before it.
  const target = Math.min(Date.UTC(from.year, month, from.day), Date.UTC(from.year, month + 1, 0))
  return target / msPerDay
}

/**
 * Whether an instant is within some years of another, counted in whole UTC calendar days: the same
 * date that many years later or earlier is within. False for NaN.
 */
export function isWithinYears(at: Instant, of: Instant, years: number): boolean {
  const [day, middle] = [toUtcDay(at), toUtcDay(of)]
  return day >= addMonths(middle, -years * 12) && day <= addMonths(middle, years * 12)
}

/** Infinity, for an instant that is not soon, is left out. */
export function formatFinite(at: Instant | undefined): string | undefined {
  return at === undefined || !Number.isFinite(at) ? undefined : formatInstant(at)
}
