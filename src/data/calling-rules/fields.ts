/** The kinds of fields that several tables of `calling-rules.yaml` have. */
import { z } from 'zod'
import { callPurposes } from '../../domain/decision.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { type DayRange, parseDay } from '../../domain/time/dates.js'
import { type DayWindow, parseDayWindow } from '../../domain/time/week-windows.js'

/** `none`, or `HH:MM-HH:MM` as seconds of the day. */
export const dayWindowSchema = z.string().transform((value, context): DayWindow | undefined => {
  if (value === 'none') return undefined
  const window = parseDayWindow(value)
  if (window) return window
  context.addIssue('must be none or HH:MM-HH:MM with the start before the end, 24:00 at most')
  return z.NEVER
})

/** Monday to Friday, Saturday and Sunday. */
export const weekSchema = z.strictObject({
  monFri: dayWindowSchema,
  sat: dayWindowSchema,
  sun: dayWindowSchema,
})

/** A local day, written `YYYY-MM-DD`. */
export const daySchema = z.string().transform((value, context): LocalDay => {
  const found = /^\d{4}-\d{2}-\d{2}$/.test(value) ? parseDay(value) : undefined
  if (found !== undefined) return found
  context.addIssue('must be a date YYYY-MM-DD that exists')
  return z.NEVER
})

/** The local days on which a row holds. */
export const dates = { from: daySchema.optional(), until: daySchema.optional() }
export const hasDatesInOrder = ({ from, until }: DayRange) =>
  from === undefined || until === undefined || from <= until
export const datesInOrder = { path: ['until'], error: 'must not be before from' }

export const text = z.string().min(1, 'must not be empty')
export const count = z.int().min(1, 'must be 1 or more')
export const country = z.enum(['US', 'CA'])
export const confidence = z.enum([
  'statute-text',
  'statute-quoted',
  'secondary',
  'conflicting',
  'baseline',
])

/** By which decisions and settings name a row. */
export const ruleId = z
  .string()
  .regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -')

export const purposeList = z
  .array(z.enum(callPurposes, `must be one of ${callPurposes.join(', ')}`))
  .min(1, 'must not be empty')

/** A name that another part of the document has. */
export type Reference = z.ZodType<string, string>

/** The days, source and remarks of a row of a table. */
export const datedRow = { ...dates, citation: text, confidence, notes: text.optional() }
