/** The kinds of values that several parts of the settings have. */
import { z } from 'zod'
import { type Instant, parseInstant } from './domain/clock.js'

export const wholeNumber = (min: number, max: number) => z.number().int().min(min).max(max)

export const milliseconds = (min: number, max: number) => wholeNumber(min, max).meta({ unit: 'ms' })

/** Its refusal names the example. */
export const instant = (example: string) =>
  z
    .string()
    .transform((text, context): Instant => {
      const at = parseInstant(text)
      if (at === undefined) {
        context.addIssue(`must be an instant such as ${example}`)
        return z.NEVER
      }
      return at
    })
    .meta({ unit: 'ISO 8601 instant' })

export const address = z
  .string()
  .regex(/^https?:\/\/[^\s?#@]+$/, 'must be http://host or https://host, without key or query')
  .refine((text) => URL.canParse(text), 'must name a host and a port that can be')
  .transform((text) => text.replace(/\/+$/, ''))

export const file = z.string().min(1).optional()

export const secret = z
  .string()
  .regex(/^[\x21-\x7e]{1,500}$/, 'must be 1 to 500 visible ASCII characters')
  .optional()
