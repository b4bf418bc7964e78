/** The tables of rules in `calling-rules.yaml`: their fields. What these mean for a call is defined in `src/law/`. */
import { z } from 'zod'
import { liftingRecords } from '../../domain/consent/consent-records.js'
import { callKinds } from '../../domain/decision.js'
import { countedReach, liftedRules, maxFrequencyHours } from '../../domain/mandate.js'
import { findAreaCodePlace, listAreaCodes } from '../../law/area-codes.js'
import {
  confidence,
  country,
  datedRow,
  dates,
  datesInOrder,
  hasDatesInOrder,
  purposeList,
  type Reference,
  ruleId,
  text,
  weekSchema,
} from './fields.js'

function isZoneOfPlan(name: string): boolean {
  return listAreaCodes().some((code) =>
    findAreaCodePlace(code)?.candidates.some(({ zone }) => zone === name),
  )
}

const percent = z.number().gt(0, 'must be above 0').max(100, 'must be 100 or less')

export const abandonmentRuleSchema = z
  .strictObject({
    id: ruleId,
    country,
    purposes: purposeList.default(['telemarketing', 'charity']),
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
    ...datedRow,
  })
  .refine(({ days, monthIn }) => (days === undefined) !== (monthIn === undefined), {
    path: ['days'],
    error: 'must be given, or monthIn instead',
  })
  .refine((row) => row.warnPercent <= row.percent, {
    path: ['warnPercent'],
    error: 'must not be above percent',
  })

export const callerIdRuleSchema = (region: Reference) =>
  z.strictObject({ id: ruleId, region, ...datedRow })

export const consentRuleSchema = (region: Reference) =>
  z
    .strictObject({
      id: ruleId,
      region,
      numberCounts: z.literal('area-code', 'must be area-code').optional(),
      callKinds: z.array(z.enum(callKinds)).min(1, 'must not be empty'),
      purposes: purposeList.default(['telemarketing']),
      lines: z
        .array(z.enum(['landline', 'wireless'], 'must be landline or wireless'))
        .min(1, 'must not be empty')
        .optional(),
      liftedBy: z.array(z.enum(liftingRecords, `must be one of ${liftingRecords.join(', ')}`)),
      exemptionsNotJudged: z.array(text).default([]),
      ...dates,
      citation: text,
      quote: z
        .string()
        .min(1, 'must not be empty')
        .max(300, 'must not be longer than 300 characters'),
      confidence,
      notes: text.optional(),
    })
    .refine(hasDatesInOrder, datesInOrder)

export const exceptionSchema = (region: Reference) =>
  z
    .strictObject({
      id: ruleId,
      region,
      lifts: z
        .array(z.enum(liftedRules, `must be one of ${liftedRules.join(', ')}`))
        .min(1, 'must not be empty'),
      by: z.array(z.enum(['S', 'I', 'P'], 'must be S, I or P')).min(1, 'must not be empty'),
      months: z.int().min(1, 'must be 1 to 120').max(120, 'must be 1 to 120').optional(),
      ...datedRow,
    })
    .refine(({ by, months }) => months !== undefined || by.every((type) => type === 'P'), {
      path: ['months'],
      error: 'must be given for a sale or an inquiry',
    })
    .refine(hasDatesInOrder, datesInOrder)

/** Refinements run even if another field is wrong. */
type PartialRule = Readonly<Record<string, unknown>>

const reaches = Object.keys(countedReach) as (keyof typeof countedReach)[]

export const frequencyRuleSchema = (region: Reference) =>
  z
    .strictObject({
      id: ruleId,
      region: region.optional(),
      country: country.optional(),
      purposes: purposeList.default(['telemarketing']),
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
      ...datedRow,
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

export function purposesSchema(region: Reference) {
  const hours = z.strictObject({ hours: weekSchema, ...dates, citation: text, confidence })
  const rules = z.strictObject({
    hours: weekSchema.optional(),
    ...dates,
    regions: z.record(region, hours).default({}),
    machines: z.enum(
      ['permission', 'permission-or-landline', 'unlimited'],
      'must be permission, permission-or-landline or unlimited',
    ),
    citation: text,
    confidence,
    notes: text.optional(),
  })
  return z.strictObject({
    informational: rules,
    'debt-collection': rules,
    political: rules,
    charity: rules,
    healthcare: rules,
    emergency: rules,
  })
}

export function revocationSchema(holiday: Reference, observedPolicy: Reference) {
  const rule = z
    .strictObject({
      id: ruleId,
      businessDays: z.int().min(1, 'must be 1 or more').max(100, 'must be 100 or less'),
      confirmationMinutes: z.int().min(0, 'must be 0 or more').max(60, 'must be 60 or less'),
      datedByOperator: z.boolean().default(false),
      ...datedRow,
    })
    .refine(
      ({ datedByOperator, from, until }) => !datedByOperator || (from ?? until) === undefined,
      {
        path: ['datedByOperator'],
        error: 'goes without from and until',
      },
    )
  return z.strictObject({
    utcOffsetHours: z.int().min(-12, 'must be -12 to 14').max(14, 'must be -12 to 14'),
    holidays: z.array(holiday),
    observedPolicy,
    rules: z.array(rule),
  })
}
