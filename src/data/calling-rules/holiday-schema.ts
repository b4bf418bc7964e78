import { z } from 'zod'
import { toLocalDay } from '../../domain/time/dates.js'

const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const weekday = z.enum(weekdayNames).transform((name) => weekdayNames.indexOf(name))
const month = z.int().min(1, 'must be 1 to 12').max(12, 'must be 1 to 12')
const dayOfMonth = z.int().min(1, 'must be 1 to 31').max(31, 'must be 1 to 31')
const yearDate = { month, day: dayOfMonth }

/** Uses 2023, so that no rule can depend on February 29. A bad month is reported elsewhere. */
function existsEveryYear({ month, day }: { month?: unknown; day?: unknown }): boolean {
  const isMonth = Number(month) >= 1 && Number(month) <= 12
  return !isMonth || toLocalDay(2023, Number(month), Number(day)) !== undefined
}
const noSuchDate = { path: ['day'], error: 'must be a day of that month in every year' }

const shift = z
  .strictObject({
    sun: z.int(),
    mon: z.int(),
    tue: z.int(),
    wed: z.int(),
    thu: z.int(),
    fri: z.int(),
    sat: z.int(),
  })
  .transform((days) => weekdayNames.map((name) => days[name]))

/** See {@link HolidayRule} for what each type means. */
export const holidayRuleSchema = z.discriminatedUnion(
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
