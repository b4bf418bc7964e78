/** The laws that allow some calls only with a consent, beyond the federal rules: rows of `calling-rules.yaml`, each for a region. */
import { z } from 'zod'
import {
  type CallToConsent,
  liftingRecords,
  type RequiredConsent,
} from '../../domain/consent-records.js'
import { type CallPurpose, callKinds, callPurposes } from '../../domain/decision.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { findAreaCodePlace } from '../numbering/area-codes.js'
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
      liftedBy: z.array(
        z.enum(liftingRecords, `must be one of ${liftingRecords.join(', ')}; others are not known`),
      ),
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

export class ConsentRules {
  readonly #ofPurpose: ReadonlyMap<CallPurpose, readonly ConsentRule[]>

  constructor(rows: readonly ConsentRule[]) {
    this.#ofPurpose = new Map(
      callPurposes.map((purpose) => [
        purpose,
        rows.filter(({ purposes }) => purposes.includes(purpose)),
      ]),
    )
  }

  /**
   * Those for a call at an instant to a person who may be in any of the places. The area code counts beside the places where a
   * row says so, and for every row if no place is known.
   */
  find(
    { callKind, purpose, number, places }: CallToConsent,
    at: Instant,
  ): readonly RequiredConsent[] {
    const rows = this.#ofPurpose.get(purpose) ?? noRules
    if (rows.length === 0) return noRules
    const ofAreaCode = findAreaCodePlace(number.slice(0, 3))?.candidates ?? []
    return rows.filter(
      (row) =>
        (places.some(({ region }) => region === row.region) ||
          ((row.numberCounts === 'area-code' || places.length === 0) &&
            ofAreaCode.some(({ region }) => region === row.region))) &&
        row.callKinds.includes(callKind) &&
        isInForceSomewhere(row, places, at),
    )
  }
}
