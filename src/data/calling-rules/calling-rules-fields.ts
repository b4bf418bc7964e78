/**
 * The small parts of `calling-rules.yaml`: windows, days and the rules by which holidays fall.
 * The document as a whole is in `calling-rules-schema.ts`.
 */
import { z } from 'zod'
import { type LocalDay, localDay, parseDay } from '../../domain/clock.js'
import { type DayWindow, parseDayWindow } from '../../domain/week-windows.js'

/** `none`, or `HH:MM-HH:MM` as seconds of the day. */
export const dayWindow = z.string().transform((value, context): DayWindow | undefined => {
  if (value === 'none') return undefined
  const window = parseDayWindow(value)
  if (window) return window
  context.addIssue('must be none or HH:MM-HH:MM with the start before the end, 24:00 at most')
  return z.NEVER
})

/** Monday to Friday, Saturday and Sunday. */
export const week = z.strictObject({ monFri: dayWindow, sat: dayWindow, sun: dayWindow })

/** A local day, written `YYYY-MM-DD`. */
export const day = z.string().transform((value, context): LocalDay => {
  const found = /^\d{4}-\d{2}-\d{2}$/.test(value) ? parseDay(value) : undefined
  if (found !== undefined) return found
  context.addIssue('must be a date YYYY-MM-DD that exists')
  return z.NEVER
})

const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const weekday = z.enum(weekdayNames).transform((name) => weekdayNames.indexOf(name))
const month = z.int().min(1, 'must be 1 to 12').max(12, 'must be 1 to 12')
const dayOfMonth = z.int().min(1, 'must be 1 to 31').max(31, 'must be 1 to 31')
const yearDate = { month, day: dayOfMonth }

/** 2023 has no 29 February, so no rule can depend on it. A wrong month has its own complaint. */
function existsEveryYear({ month, day }: { month?: unknown; day?: unknown }): boolean {
  const isMonth = Number(month) >= 1 && Number(month) <= 12
  return !isMonth || localDay(2023, Number(month), Number(day)) !== undefined
}
const noSuchDate = { path: ['day'], error: 'must be a day of that month in every year' }

const shift = z
  .strictObject({
    ...{ sun: z.int(), mon: z.int(), tue: z.int(), wed: z.int() },
    ...{ thu: z.int(), fri: z.int(), sat: z.int() },
  })
  .transform((days) => weekdayNames.map((name) => days[name]))

/** See `HolidayRule` in `holidays.ts` for what each type means. */
export const holidayRule = z.discriminatedUnion(
  'type',
  [
    z
      .strictObject({
        type: z.literal('fixed'),
        ...yearDate,
        observed: z.enum(['by-region', 'never']),
      })
      .refine(existsEveryYear, noSuchDate),
    z
      .strictObject({ type: z.literal('fixed-shifted'), ...yearDate, shift })
      .refine(existsEveryYear, noSuchDate),
    z.strictObject({
      type: z.literal('nth-weekday'),
      month,
      weekday,
      nth: z.int().refine((n) => n === -1 || (n >= 1 && n <= 4), 'must be 1 to 4, or -1'),
      offset: z.int().default(0),
    }),
    z.strictObject({ type: z.literal('easter-offset'), days: z.int() }),
    z
      .strictObject({ type: z.literal('weekday-before'), ...yearDate, weekday })
      .refine(existsEveryYear, noSuchDate),
    z
      .strictObject({
        type: z.literal('weekday-after'),
        ...yearDate,
        weekday,
        years: z.enum(['every', 'even']).default('every'),
      })
      .refine(existsEveryYear, noSuchDate),
  ],
  {
    error:
      'must be one of fixed, fixed-shifted, nth-weekday, easter-offset, weekday-before, ' +
      'weekday-after',
  },
)
