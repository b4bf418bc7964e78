/** The laws on how often a person may be called: rows of `calling-rules.yaml`, each for a region. */
import { z } from 'zod'
import { type CallPurpose, callKinds, callPurposes } from '../../domain/decision.js'
import {
  type CallToCount,
  countedReach,
  type FrequencyLimit,
  maxFrequencyHours,
} from '../../domain/mandate.js'
import type { CandidatePlace, Country } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { type DayRange, msPerDay, msPerHour, toUtcDay } from '../../domain/time/dates.js'
import { toLocalTime } from '../../domain/time/time-zones.js'
import { findAreaCodePlace, listAreaCodes } from '../../law/area-codes.js'

export interface FrequencyRuleFields {
  readonly region: z.ZodType<string, string>
  readonly country: z.ZodType<Country, string>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

export const frequencyRuleSchema = ({
  region,
  country,
  day,
  text,
  confidence,
}: FrequencyRuleFields) =>
  z
    .strictObject({
      id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
      region: region.optional(),
      country: country.optional(),
      purposes: z
        .array(z.enum(callPurposes, `must be one of ${callPurposes.join(', ')}`))
        .min(1, 'must not be empty')
        .default(['telemarketing']),
      callKinds: z.array(z.enum(callKinds)).min(1, 'must not be empty').optional(),
      calls: z.int().min(1, 'must be 1 or more').max(1_000, 'must be 1000 or less'),
      hours: z
        .int()
        .min(1, 'must be 1 or more')
        .max(maxFrequencyHours, `must be ${maxFrequencyHours} or less`)
        .optional(),
      days: z.int().min(1, 'must be 1 or more').max(30, 'must be 30 or less').optional(),
      per: z.enum(['person', 'number'], 'must be person or number'),
      perSubject: z.boolean().default(false),
      counts: z.enum(reaches, `must be one of ${reaches.join(', ')}`).default('all'),
      liftedBy: z.literal('permission', 'must be permission').optional(),
      from: day.optional(),
      until: day.optional(),
      citation: text,
      confidence,
      notes: text.optional(),
    })
    .refine((row: PartialRule) => 'hours' in row !== 'days' in row, {
      path: ['hours'],
      error: 'give either hours or days',
      when: () => true,
    })
    .refine((row: PartialRule) => 'region' in row !== 'country' in row, {
      path: ['region'],
      error: 'give either a region or a country',
      when: () => true,
    })

/** Refinements run even if another field is wrong. */
type PartialRule = Readonly<Record<string, unknown>>

const reaches = Object.keys(countedReach) as (keyof typeof countedReach)[]

export type FrequencyRule = z.output<ReturnType<typeof frequencyRuleSchema>>

interface PreparedRule {
  readonly rule: FrequencyRule
  readonly limit: FrequencyLimit
}

const noRules: readonly PreparedRule[] = []
const noLimits: readonly FrequencyLimit[] = []

/** The rules for a purpose, most of which are for few places. */
interface RulesOfPurpose {
  readonly all: readonly PreparedRule[]
  readonly byRegion: ReadonlyMap<string, readonly PreparedRule[]>
  /** Florida and Oklahoma presume that whoever has a number of theirs is there. */
  readonly byAreaCode: ReadonlyMap<string, readonly PreparedRule[]>
}

export class FrequencyRules {
  readonly #ofPurpose: ReadonlyMap<CallPurpose, RulesOfPurpose>

  /** `countries`: of every region. */
  constructor(rows: readonly FrequencyRule[], countries: ReadonlyMap<string, Country>) {
    const rules = rows.map(prepareRule)
    this.#ofPurpose = new Map(
      callPurposes.map((purpose) => {
        const own = rules.filter(({ rule }) => rule.purposes.includes(purpose))
        return [purpose, groupByPlace(own, countries)]
      }),
    )
  }

  /**
   * Those that count a call at an instant, to a person who may be in any of the places, or in one of the area code. All
   * of its purpose, if neither is known.
   */
  find(call: CallToCount, at: Instant): readonly FrequencyLimit[] {
    const { purpose, places, number } = call
    const own = this.#ofPurpose.get(purpose)
    if (own === undefined) return noLimits
    const { all, byRegion, byAreaCode } = own
    const ofAreaCode = byAreaCode.get(number.slice(0, 3))
    let found = places.length === 0 ? (ofAreaCode ?? all) : (ofAreaCode ?? noRules)
    for (const { region } of places) {
      const ofRegion = byRegion.get(region) ?? noRules
      if (ofRegion.length > 0) found = [...new Set([...found, ...ofRegion])]
    }
    if (found.length === 0) return noLimits
    return found.filter((one) => counts(one, call, at)).flatMap((one) => toLimits(one, places))
  }
}

function groupByPlace(
  all: readonly PreparedRule[],
  countries: ReadonlyMap<string, Country>,
): RulesOfPurpose {
  const isFor = ({ rule: { region, country } }: PreparedRule, code: string) =>
    region === undefined ? countries.get(code) === country : region === code
  const select = (codes: readonly string[]) => {
    const own = all.filter((one) => codes.some((code) => isFor(one, code)))
    return own.length === 0 ? noRules : own
  }
  const byRegion = new Map([...countries.keys()].map((code) => [code, select([code])]))
  const byAreaCode = new Map(
    listAreaCodes().map((code) => {
      const places = findAreaCodePlace(code)?.candidates ?? []
      return [code, select(places.map(({ region }) => region))]
    }),
  )
  return { all, byRegion, byAreaCode }
}

function counts(
  { rule }: PreparedRule,
  { callKind, hasPermission, places }: CallToCount,
  at: Instant,
): boolean {
  return (
    rule.callKinds?.includes(callKind) !== false &&
    !(hasPermission && rule.liftedBy === 'permission') &&
    isInForceSomewhere(rule, places, at)
  )
}

/** On the local day of any place where the person may be; where none is known, on that of any clock of the plan. */
export function isInForceSomewhere(
  { from, until }: DayRange,
  places: readonly CandidatePlace[],
  at: Instant,
): boolean {
  if (from === undefined && until === undefined) return true
  const days =
    places.length === 0
      ? [toUtcDay(at - maxBehindUtc), toUtcDay(at + maxAheadOfUtc)]
      : places.map(({ zone }) => toLocalTime(zone, at).day)
  return days.some((day) => day >= (from ?? day) && day <= (until ?? day))
}

/** American Samoa is behind UTC by 11 hours, Guam ahead by 10. */
const maxBehindUtc = 11 * msPerHour
const maxAheadOfUtc = 10 * msPerHour

/** A rule of whole days is one in each time zone where the person may be. */
function toLimits(
  { rule: { days }, limit }: PreparedRule,
  places: readonly CandidatePlace[],
): readonly FrequencyLimit[] {
  if (days === undefined || places.length === 0) return [limit]
  const zones = new Set(places.map(({ zone }) => zone))
  return [...zones].map((zone) => ({ ...limit, days: { count: days, zone } }))
}

function prepareRule(rule: FrequencyRule): PreparedRule {
  const { id, calls, hours, days, per, perSubject: isPerSubject, counts, citation } = rule
  const { purposes } = rule
  // Where no time zone is known, a day more than the days.
  const periodMs = hours === undefined ? ((days ?? 0) + 1) * msPerDay : hours * msPerHour
  return {
    rule,
    limit: { id, calls, periodMs, per, isPerSubject, counts, purposes, citation },
  }
}
