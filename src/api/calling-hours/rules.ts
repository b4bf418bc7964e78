/** The calling rules in force in a region, by day, and how they differ between two days. */
import { z } from 'zod'
import { type CallKind, callKinds } from '../../domain/decision.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'
import { defineEndpoint } from '../endpoint.js'
import { fields, optionalEnum, optionalText } from '../fields.js'
import { instant } from '../gate/decision-body.js'

export interface RulesRequest {
  /** Postal code in upper case; without one, only the hours of all regions are asked for. */
  readonly region?: string | undefined
  readonly kind: CallKind
  /** Local day in the region; today in UTC when absent. */
  readonly date?: LocalDay | undefined
  readonly compareDate?: LocalDay | undefined
}

const day = z
  .string('must be text')
  .transform((text, context): LocalDay | undefined => {
    if (text.trim() === '') return undefined
    const parsed = /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseDay(text) : undefined
    if (parsed !== undefined) return parsed
    context.addIssue('must be a date YYYY-MM-DD that exists')
    return z.NEVER
  })
  .optional()

const rulesRequest: z.ZodType<RulesRequest> = fields({
  region: optionalText(20)
    .transform((text) => text?.toUpperCase())
    .describe('Two-letter postal code of a state, territory or province, such as FL'),
  kind: optionalEnum(callKinds, 'manual').describe('Kind of call'),
  date: day.describe('Local day there, YYYY-MM-DD; default today in UTC'),
  compareDate: day.describe('With `region`: a day whose rules are compared with those of `date`'),
})

const date = z.iso.date()

const row = z
  .object({
    rule: z.string().describe('Where it is in the file of the rules, such as `hours`'),
    value: z.string(),
    from: date.nullable(),
    until: date.nullable(),
    citation: z.string(),
    confidence: z.string().nullable().describe('How the rule is known, such as `statute-text`'),
  })
  .meta({ id: 'CallingRule' })

const changes = z.array(
  z.object({
    region: z.string(),
    rule: z.string(),
    before: row.nullable().describe('Null if the day lacks it'),
    after: row.nullable(),
  }),
)

const dayOfWeek = z.object({
  date,
  opensAt: z.string().nullable().describe('`08:00` in local time; null on a day without calls'),
  closesAt: z.string().nullable().describe('`24:00` at most'),
  rule: z.string().describe('The hours and where they are from'),
  closedBy: z.string().nullable().describe('The holiday, or the day that the operator entered'),
})

const dated = z.object({ date, changes: changes.readonly() })

const regionRules = z
  .object({
    region: z.string(),
    name: z.string(),
    country: z.string(),
    week: z.array(dayOfWeek).length(7).describe('From Monday to Sunday').readonly(),
    emergencies: z
      .array(
        z.object({
          name: z.string(),
          from: instant,
          until: instant.nullable().describe('Null while no end is known'),
          postalPrefixes: z.array(z.string()).readonly(),
        }),
      )
      .describe('In which no calls may be placed, entered by the operator; on `date`')
      .readonly(),
    rules: z.array(row).describe('All that hold on `date`').readonly(),
    closedDays: z
      .array(z.object({ date, name: z.string() }))
      .describe('Days of the calendar year without calls')
      .readonly(),
    next: dated.nullable().describe('The next day on which other rules hold, if one is known'),
    compared: dated.nullable().describe('What differs on `compareDate`'),
  })
  .meta({ id: 'RegionRules' })

const rulesResponse = z.object({
  date,
  kind: z.enum(callKinds),
  asOf: date.describe('When the rules were collected'),
  regions: z
    .array(
      z.object({
        region: z.string(),
        name: z.string(),
        country: z.string(),
        hours: z.string().describe('On `date`: `08:00-20:00`, or `none`'),
        closedBy: z.string().nullable(),
      }),
    )
    .readonly(),
  chosen: regionRules.nullable().describe('Of `region`; null without one'),
})

export type RulesBody = z.output<typeof rulesResponse>
export type RegionRulesBody = z.output<typeof regionRules>

export const rulesEndpoint = defineEndpoint<RulesRequest, RulesBody>({
  name: 'rules',
  summary:
    'The calling rules that this server applies to telemarketing calls: the hours of all regions on a day, and of one region its week, ' +
    'every rule with citation and confidence, and what differs on another day. Hours of projects are not considered.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/rules'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: rulesRequest,
  response: rulesResponse,
  errors: 'problem',
})
