/** The laws on showing a number of a place where the caller is not: rows of `calling-rules.yaml`, each for a region. */
import { z } from 'zod'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { findAreaCodePlace } from '../../law/area-codes.js'

export interface CallerIdRuleFields {
  readonly region: z.ZodType<string, string>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

export const callerIdRuleSchema = ({ region, day, text, confidence }: CallerIdRuleFields) =>
  z.strictObject({
    id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
    region,
    from: day.optional(),
    until: day.optional(),
    citation: text,
    confidence,
    notes: text.optional(),
  })

export type CallerIdRule = z.output<ReturnType<typeof callerIdRuleSchema>>

const isOfRegion = (number: string, region: string) =>
  findAreaCodePlace(number.slice(0, 3))?.candidates.some((place) => place.region === region) ===
  true

export class CallerIdRules {
  readonly #rows: readonly CallerIdRule[]

  constructor(rows: readonly CallerIdRule[]) {
    this.#rows = rows
  }

  /** The person may be in any of the places, or in one of the area code. */
  findPresenceLaw(
    shown: string,
    {
      number,
      places,
    }: { readonly number: string; readonly places: readonly { readonly region: string }[] },
    at: Instant,
  ): string | undefined {
    const law = this.#rows.find(({ region, from, until }) => {
      const isInForce =
        at >= (from ?? Number.NEGATIVE_INFINITY) * msPerDay &&
        at < ((until ?? Number.POSITIVE_INFINITY) + 2) * msPerDay
      const isThere = isOfRegion(number, region) || places.some((place) => place.region === region)
      return isInForce && isThere && isOfRegion(shown, region)
    })
    return law?.citation
  }
}
