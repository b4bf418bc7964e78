/** The laws on abandoned calls: rows of `calling-rules.yaml`, each for a country. */
import { z } from 'zod'
import type { AbandonmentLimit } from '../../domain/call-outcome.js'
import { type CallPurpose, callPurposes } from '../../domain/decision.js'
import type { Country } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { findAreaCodePlace, listAreaCodes } from '../../law/area-codes.js'

export interface AbandonmentRuleFields {
  readonly country: z.ZodType<Country, string>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

function isZoneOfPlan(name: string): boolean {
  return listAreaCodes().some((code) =>
    findAreaCodePlace(code)?.candidates.some(({ zone }) => zone === name),
  )
}

const percent = z.number().gt(0, 'must be above 0').max(100, 'must be 100 or less')

export const abandonmentRuleSchema = ({ country, day, text, confidence }: AbandonmentRuleFields) =>
  z
    .strictObject({
      id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
      country,
      purposes: z
        .array(z.enum(callPurposes, `must be one of ${callPurposes.join(', ')}`))
        .min(1, 'must not be empty')
        .default(['telemarketing', 'charity']),
      percent,
      warnPercent: percent,
      minAnswered: z.int().min(1, 'must be 1 or more').max(100_000, 'must be 100000 or less'),
      connectSeconds: z.int().min(1, 'must be 1 or more').max(60, 'must be 60 or less'),
      ringSeconds: z.int().min(1, 'must be 1 or more').max(60, 'must be 60 or less').optional(),
      days: z.int().min(1, 'must be 1 or more').max(366, 'must be 366 or less').optional(),
      monthIn: z
        .string()
        .refine(isZoneOfPlan, 'must be a time zone of an area code, such as America/Toronto')
        .optional(),
      from: day.optional(),
      until: day.optional(),
      citation: text,
      confidence,
      notes: text.optional(),
    })
    .refine(({ days, monthIn }) => (days === undefined) !== (monthIn === undefined), {
      path: ['days'],
      error: 'must be given, or monthIn instead',
    })
    .refine((row) => row.warnPercent <= row.percent, {
      path: ['warnPercent'],
      error: 'must not be above percent',
    })

export type AbandonmentRule = z.output<ReturnType<typeof abandonmentRuleSchema>>

interface PreparedRule {
  readonly country: Country
  readonly purposes: readonly CallPurpose[]
  readonly limit: AbandonmentLimit
  readonly from: Instant
  readonly until: Instant
}

const noLimits: readonly AbandonmentLimit[] = []

export class AbandonmentRules {
  /** In the order of their ids. */
  readonly limits: readonly AbandonmentLimit[]
  readonly #rules: readonly PreparedRule[]
  readonly #countries: ReadonlyMap<string, Country>

  /** `countries`: of every region. */
  constructor(rows: readonly AbandonmentRule[], countries: ReadonlyMap<string, Country>) {
    this.#rules = rows.map(prepareRule).sort((a, b) => (a.limit.id < b.limit.id ? -1 : 1))
    this.limits = this.#rules.map(({ limit }) => limit)
    this.#countries = countries
  }

  /**
   * Those that count a call at an instant to a person who may be in any of the places, or in one of the area code. All, if
   * neither is known.
   */
  find(
    {
      number,
      purpose,
      places,
    }: {
      readonly number: string
      readonly purpose: CallPurpose
      readonly places: readonly { readonly region: string }[]
    },
    at: Instant,
  ): readonly AbandonmentLimit[] {
    if (this.#rules.length === 0) return noLimits
    const countries = new Set(places.map(({ region }) => this.#countries.get(region)))
    countries.add(findAreaCodePlace(number.slice(0, 3))?.country)
    countries.delete(undefined)
    return this.#rules
      .filter(
        ({ country, purposes }) =>
          purposes.includes(purpose) && (countries.size === 0 || countries.has(country)),
      )
      .filter(({ from, until }) => from <= at && at < until)
      .map(({ limit }) => limit)
  }
}

function prepareRule(rule: AbandonmentRule): PreparedRule {
  const { id, country, days, monthIn = '', minAnswered, citation, from, until } = rule
  return {
    country,
    purposes: rule.purposes,
    limit: {
      ...{ id, minAnswered, citation },
      maxPercent: rule.percent,
      warnPercent: rule.warnPercent,
      connectWithinMs: rule.connectSeconds * 1_000,
      ringMs: rule.ringSeconds === undefined ? undefined : rule.ringSeconds * 1_000,
      period: days === undefined ? { monthIn } : { days },
    },
    from: from === undefined ? Number.NEGATIVE_INFINITY : from * msPerDay,
    until: until === undefined ? Number.POSITIVE_INFINITY : (until + 2) * msPerDay,
  }
}
