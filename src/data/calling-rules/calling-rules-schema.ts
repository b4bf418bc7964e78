/**
 * The form of `calling-rules.yaml`: every field, its type and the rules between fields.
 * What the fields mean for a call is the business of `calling-rules.ts` and its users.
 */
import { z } from 'zod'
import type { FieldProblem } from '../../errors.js'
import { documentProblems } from '../document-problems.js'
import { day, dayWindow, holidayRule, week } from './calling-rules-fields.js'

const text = z.string().min(1, 'must not be empty')
const count = z.int().min(1, 'must be 1 or more')
const observedShifts = z.array(z.enum(['preceding-friday', 'following-monday']))
const banOrAllow = z.enum(['ban', 'allow'])
const country = z.enum(['US', 'CA'])
const months = z.int().min(0, 'must be 0 to 120').max(120, 'must be 0 to 120')
const confidence = z.enum([
  'statute-text',
  'statute-quoted',
  'secondary',
  'conflicting',
  'baseline',
])

/** Names that other parts of the document may use. */
interface Known {
  readonly holidays: ReadonlySet<string>
  readonly policies: ReadonlySet<string>
  readonly sources: ReadonlySet<string>
}

function reference(names: ReadonlySet<string>, table: string) {
  return z.string().refine((name) => names.has(name), `must be a key of ${table}`)
}

function keptHolidays(known: Known) {
  const entry = z
    .strictObject({
      key: reference(known.holidays, 'holidays'),
      from: day.optional(),
      until: day.optional(),
      why: text.optional(),
      area: text.optional(),
    })
    .refine(
      (kept) => kept.from === undefined || kept.until === undefined || kept.from <= kept.until,
      { path: ['until'], error: 'must not be before from' },
    )
  const short = (value: unknown) => (typeof value === 'string' ? { key: value } : value)
  return z.array(z.preprocess(short, entry))
}

const historyRow = z.strictObject({ until: day, hours: week, note: text.optional() })

const history = z.array(historyRow).superRefine((rows, context) => {
  rows.forEach((row, index) => {
    const before = rows[index - 1]
    if (before && before.until >= row.until) {
      const message = 'must be after the row before it: the oldest comes first'
      context.addIssue({ code: 'custom', path: [index, 'until'], message })
    }
  })
})

/** Zod hands over what it has read so far, also when another field is wrong. */
type HalfRead = Readonly<Record<string, unknown>>
const always = { when: () => true }

function hasHolidays(region: HalfRead): boolean {
  return ['holidays', 'holidaysDisputed', 'holidaysLimited'].some((field) => {
    const kept = region[field]
    return Array.isArray(kept) && kept.length > 0
  })
}

function lastUntil(region: HalfRead): unknown {
  const rows = region.history
  const last: unknown = Array.isArray(rows) ? rows.at(-1) : undefined
  return typeof last === 'object' && last !== null ? (last as HalfRead).until : undefined
}

function followsHistory(region: HalfRead): boolean {
  const until = lastUntil(region)
  const from = region.effectiveFrom
  if (typeof until !== 'number' || typeof from !== 'number') return true
  return from === until + 1
}

function automated(known: Known) {
  return z
    .strictObject({
      hours: week,
      holidayHours: dayWindow.optional(),
      holidays: keptHolidays(known).optional(),
      observedPolicy: reference(known.policies, 'observedPolicies').optional(),
      cap: z.strictObject({ calls: count, periodHours: count, per: text }).optional(),
      citation: text,
      confidence,
      note: text.optional(),
    })
    .refine(
      (voice: HalfRead) =>
        ['holidayHours', 'holidays', 'observedPolicy'].every(
          (field) => field in voice === 'holidayHours' in voice,
        ),
      { path: ['holidayHours'], error: 'goes with holidays and observedPolicy', ...always },
    )
}

const ebr = z.strictObject({
  S: months,
  I: months,
  obligationExempts: z.boolean().default(false),
  note: text.optional(),
})

const emergency = z.strictObject({
  citation: text,
  trigger: text,
  scope: text,
  exceptions: text,
  ends: text,
  area: text,
  operate: text,
  pending: text.optional(),
})

const frequencyCap = z.strictObject({
  calls: count,
  periodHours: count,
  per: text,
  citation: text,
  liftedBy: text.optional(),
})

const wirelessProhibited = z.strictObject({
  when: z.enum(['always', 'conditional']),
  citation: text,
  scope: text,
  liftedBy: text,
  confidence,
})

function region(known: Known) {
  const together = 'history and effectiveFrom go together'
  return z
    .strictObject({
      name: text,
      country,
      hours: week.optional(),
      effectiveFrom: day.optional(),
      history: history.optional(),
      lenientHours: week.optional(),
      holidays: keptHolidays(known).default([]),
      holidaysDisputed: keptHolidays(known).default([]),
      holidaysLimited: keptHolidays(known).default([]),
      observedPolicy: reference(known.policies, 'observedPolicies').optional(),
      proclaimedDays: z.boolean().default(false),
      emergency: emergency.optional(),
      frequencyCap: frequencyCap.optional(),
      ebr: ebr.optional(),
      wirelessProhibited: wirelessProhibited.optional(),
      automated: automated(known).optional(),
      citation: text,
      confidence,
      sources: z.array(reference(known.sources, 'sources')).min(1, 'must name a source'),
      conflicts: z.array(text).optional(),
      notes: text.optional(),
    })
    .refine((row: HalfRead) => 'history' in row === 'effectiveFrom' in row, {
      ...{ path: ['effectiveFrom'], error: together },
      ...always,
    })
    .refine((row: HalfRead) => !('history' in row) || 'hours' in row, {
      ...{ path: ['hours'], error: 'must be given where there is a history' },
      ...always,
    })
    .refine(followsHistory, {
      ...{ path: ['effectiveFrom'], error: 'must be the day after the last history row' },
      ...always,
    })
    .refine((row: HalfRead) => !hasHolidays(row) || 'observedPolicy' in row, {
      ...{ path: ['observedPolicy'], error: 'is missing; a region with holidays needs one' },
      ...always,
    })
}

const baseline = (known: Known) =>
  z.strictObject({
    hours: week,
    ebr: z.strictObject({ S: months, I: months }),
    citation: text,
    sources: z.array(reference(known.sources, 'sources')).min(1, 'must name a source'),
  })

const source = z.strictObject({ kind: text, title: text, url: z.url('must be a URL').optional() })

function documentSchema(known: Known) {
  const code = z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters')
  return z.strictObject({
    about: z.strictObject({ title: text, asOf: day, scope: text }),
    baselines: z.strictObject({ US: baseline(known), CA: baseline(known) }),
    defaults: z.strictObject({ disputedHolidays: banOrAllow, limitedHolidays: banOrAllow }),
    observedPolicies: z.record(
      z.string(),
      z.strictObject({ saturday: observedShifts, sunday: observedShifts }),
    ),
    holidays: z.record(z.string(), z.strictObject({ name: text, rule: holidayRule })),
    regions: z.record(code, region(known)),
    sources: z.record(z.string(), source),
  })
}

export type CallingRulesDocument = z.output<ReturnType<typeof documentSchema>>
export type RegionEntry = CallingRulesDocument['regions'][string]
export type AutomatedEntry = NonNullable<RegionEntry['automated']>

export type CheckedDocument =
  | { readonly ok: true; readonly document: CallingRulesDocument }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** Checks a parsed file. Every mistake in it is listed, not only the first. */
export function checkCallingRules(raw: unknown): CheckedDocument {
  const keys = (field: string) => new Set(Object.keys(asRecord(asRecord(raw)[field])))
  const schema = documentSchema({
    holidays: keys('holidays'),
    policies: keys('observedPolicies'),
    sources: keys('sources'),
  })
  const parsed = schema.safeParse(raw)
  return parsed.success
    ? { ok: true, document: parsed.data }
    : { ok: false, problems: documentProblems(parsed.error, raw) }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
