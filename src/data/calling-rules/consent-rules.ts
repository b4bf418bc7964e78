/** State laws that require a consent for some calls, beyond the federal rules: rows of `calling-rules.yaml`, each for a region. */
import { z } from 'zod'
import {
  type CallToConsent,
  liftingRecords,
  type RequiredConsent,
} from '../../domain/consent/consent-records.js'
import { type CallPurpose, callKinds, callPurposes } from '../../domain/decision.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { findAreaCodePlace, listAreaCodes } from '../../law/area-codes.js'
import { isInForceSomewhere } from './frequency-rules.js'

interface ConsentRuleFields {
  readonly region: z.ZodType<string, string>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

export const consentRuleSchema = ({ region, day, text, confidence }: ConsentRuleFields) =>
  z
    .strictObject({
      id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
      region,
      numberCounts: z.literal('area-code', 'must be area-code').optional(),
      callKinds: z.array(z.enum(callKinds)).min(1, 'must not be empty'),
      purposes: z
        .array(z.enum(callPurposes, `must be one of ${callPurposes.join(', ')}`))
        .min(1, 'must not be empty')
        .default(['telemarketing']),
      lines: z
        .array(z.enum(['landline', 'wireless'], 'must be landline or wireless'))
        .min(1, 'must not be empty')
        .optional(),
      liftedBy: z.array(z.enum(liftingRecords, `must be one of ${liftingRecords.join(', ')}`)),
      exemptionsNotJudged: z.array(text).default([]),
      from: day.optional(),
      until: day.optional(),
      citation: text,
      quote: z
        .string()
        .min(1, 'must not be empty')
        .max(300, 'must not be longer than 300 characters'),
      confidence,
      notes: text.optional(),
    })
    .refine(({ from, until }) => from === undefined || until === undefined || from <= until, {
      path: ['until'],
      error: 'must not be before from',
    })

export type ConsentRule = z.output<ReturnType<typeof consentRuleSchema>>

const noRules: readonly ConsentRule[] = []

/** The rules for a purpose. Most rules apply to few places. */
interface RulesOfPurpose {
  readonly byRegion: ReadonlyMap<string, readonly ConsentRule[]>
  /** Rules that also apply to numbers with an area code of the region. */
  readonly byAreaCode: ReadonlyMap<string, readonly ConsentRule[]>
  /** Rules for numbers without a known place. */
  readonly ofAreaCode: ReadonlyMap<string, readonly ConsentRule[]>
}

export class ConsentRules {
  /** Has only purposes with rules, since every decision looks here. */
  readonly #ofPurpose: ReadonlyMap<CallPurpose, RulesOfPurpose>

  constructor(rows: readonly ConsentRule[]) {
    const purposes = [...new Set(rows.flatMap((row) => row.purposes))]
    this.#ofPurpose = new Map(
      purposes.map((purpose) => [
        purpose,
        groupByPlace(rows.filter((row) => row.purposes.includes(purpose))),
      ]),
    )
  }

  /** Finds the rules for a call at an instant to a person who may be in any of the places. */
  find(call: CallToConsent, at: Instant): readonly RequiredConsent[] {
    const { callKind, purpose, number, places } = call
    const own = this.#ofPurpose.get(purpose)
    if (own === undefined) return noRules
    const areaCodes = places.length === 0 ? own.ofAreaCode : own.byAreaCode
    let found = areaCodes.get(number.slice(0, 3)) ?? noRules
    for (const { region } of places) {
      const ofRegion = own.byRegion.get(region)
      if (ofRegion !== undefined) found = [...new Set([...found, ...ofRegion])]
    }
    if (found.length === 0) return noRules
    return found.filter(
      (row) => row.callKinds.includes(callKind) && isInForceSomewhere(row, places, at),
    )
  }
}

function groupByPlace(rows: readonly ConsentRule[]): RulesOfPurpose {
  const isOfCode = (code: string, { region }: ConsentRule) =>
    findAreaCodePlace(code)?.candidates.some((place) => place.region === region) === true
  const byCode = (some: readonly ConsentRule[]) =>
    new Map(
      listAreaCodes().flatMap((code) => {
        const own = some.filter((row) => isOfCode(code, row))
        return own.length === 0 ? [] : [[code, own] as const]
      }),
    )
  const regions = [...new Set(rows.map(({ region }) => region))]
  return {
    byRegion: new Map(
      regions.map((region) => [region, rows.filter((row) => row.region === region)]),
    ),
    byAreaCode: byCode(rows.filter(({ numberCounts }) => numberCounts === 'area-code')),
    ofAreaCode: byCode(rows),
  }
}

/** Describes what a row requires, in one line. */
export function describeConsentRule({
  callKinds,
  purposes,
  lines,
  liftedBy,
  quote,
}: ConsentRule): string {
  const calls = `${callKinds.join(', ')} calls for ${purposes.join(' and ')}`
  const to = lines === undefined ? '' : ` to a ${lines.join(' or ')} number`
  const needed = liftedBy.length === 0 ? 'are banned' : `need ${liftedBy.join(' or ')}`
  return `${calls}${to} ${needed}: "${quote}"`
}
