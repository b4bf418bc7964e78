/**
 * The format of `calling-rules.yaml`: every field, its type and the constraints between fields. What
 * the fields mean for a call is defined in `src/law/`.
 */
import { z } from 'zod'
import { callKinds, disclosureKeys } from '../../domain/decision.js'
import type { DayRange } from '../../domain/time/dates.js'
import { DataFileError, describeProblem, type FieldProblem } from '../../errors.js'
import { CallingRules } from '../../law/calling-rules.js'
import type { CallingRulesDocument } from '../../law/calling-rules-document.js'
import { listDocumentProblems } from '../files/document-problems.js'
import { readYamlFile } from '../files/yaml-file.js'
import {
  confidence,
  count,
  country,
  datedRow,
  dates,
  datesInOrder,
  daySchema,
  dayWindowSchema,
  hasDatesInOrder,
  purposeList,
  type Reference,
  text,
  weekSchema,
} from './fields.js'
import { holidayRuleSchema } from './holiday-schema.js'
import {
  abandonmentRuleSchema,
  callerIdRuleSchema,
  consentRuleSchema,
  exceptionSchema,
  frequencyRuleSchema,
  purposesSchema,
  revocationSchema,
} from './rule-schemas.js'

/** A row, or several of which no two hold on the same day, the oldest first. As a list either way. */
function rowsInOrder<Row extends DayRange>(row: z.ZodType<Row>) {
  const rows = z.array(row).min(1, 'must not be empty').superRefine(requireOrder)
  return z.unknown().transform((value, context): readonly Row[] => {
    const isList = Array.isArray(value)
    const parsed = (isList ? rows : row).safeParse(value, { jitless: true })
    if (parsed.success) return isList ? (parsed.data as Row[]) : [parsed.data as Row]
    for (const issue of parsed.error.issues) context.addIssue({ ...issue })
    return z.NEVER
  })
}

function requireOrder(rows: readonly DayRange[], context: z.core.$RefinementCtx): void {
  rows.forEach(({ from }, index) => {
    const before = rows[index - 1]
    if (!before) return
    const isAfter = before.until !== undefined && from !== undefined && before.until < from
    if (isAfter) return
    const message = 'must be after the last day of the row before it, which must have one'
    context.addIssue({ code: 'custom', path: [index, 'from'], message })
  })
}

const observedShifts = z.array(z.enum(['preceding-friday', 'following-monday']))
const banOrAllow = z.enum(['ban', 'allow'])
const months = z.int().min(0, 'must be 0 to 120').max(120, 'must be 0 to 120')

/** Names that other parts of the document may refer to. */
interface DefinedNames {
  readonly holidays: ReadonlySet<string>
  readonly regions: ReadonlySet<string>
  readonly policies: ReadonlySet<string>
  readonly sources: ReadonlySet<string>
}

function reference(names: ReadonlySet<string>, table: string): Reference {
  return z.string().refine((name) => names.has(name), `must be a key of ${table}`)
}

function holidaysSchema(known: DefinedNames) {
  const entry = z
    .strictObject({
      key: reference(known.holidays, 'holidays'),
      ...dates,
      why: text.optional(),
      area: text.optional(),
    })
    .refine(hasDatesInOrder, datesInOrder)
  const short = (value: unknown) => (typeof value === 'string' ? { key: value } : value)
  return z.array(z.preprocess(short, entry))
}

const historyRowSchema = z.strictObject({
  until: daySchema,
  hours: weekSchema,
  citation: text.optional(),
  note: text.optional(),
})

const historySchema = z.array(historyRowSchema).superRefine((rows, context) => {
  rows.forEach((row, index) => {
    const before = rows[index - 1]
    if (before && before.until >= row.until) {
      const message = 'must be after the row before it: the oldest comes first'
      context.addIssue({ code: 'custom', path: [index, 'until'], message })
    }
  })
})

/** The fields that zod has parsed so far, since refinements run even if another field is wrong. */
type PartialDocument = Readonly<Record<string, unknown>>
const alwaysRefine = { when: () => true }

function hasHolidays(region: PartialDocument): boolean {
  return ['holidays', 'holidaysDisputed', 'holidaysLimited'].some((field) => {
    const kept = region[field]
    return Array.isArray(kept) && kept.length > 0
  })
}

function lastUntil(region: PartialDocument): unknown {
  const rows = region.history
  const last: unknown = Array.isArray(rows) ? rows.at(-1) : undefined
  return typeof last === 'object' && last !== null ? (last as PartialDocument).until : undefined
}

function followsHistory(region: PartialDocument): boolean {
  const until = lastUntil(region)
  const from = region.effectiveFrom
  if (typeof until !== 'number' || typeof from !== 'number') return true
  return from === until + 1
}

function automatedSchema(known: DefinedNames) {
  return z
    .strictObject({
      hours: weekSchema,
      holidayHours: dayWindowSchema.optional(),
      holidays: holidaysSchema(known).optional(),
      observedPolicy: reference(known.policies, 'observedPolicies').optional(),
      cap: z.strictObject({ calls: count, periodHours: count, per: text }).optional(),
      ...dates,
      citation: text,
      confidence,
      note: text.optional(),
    })
    .refine(
      (voice: PartialDocument) =>
        ['holidayHours', 'holidays', 'observedPolicy'].every(
          (field) => field in voice === 'holidayHours' in voice,
        ),
      { path: ['holidayHours'], error: 'goes with holidays and observedPolicy', ...alwaysRefine },
    )
    .refine(hasDatesInOrder, datesInOrder)
}

const ebrSchema = z
  .strictObject({
    S: months,
    I: months,
    obligationExempts: z.boolean().default(false),
    ...dates,
    citation: text.optional(),
    note: text.optional(),
  })
  .refine(hasDatesInOrder, datesInOrder)

const emergencySchema = z
  .strictObject({
    ...dates,
    citation: text,
    trigger: text,
    scope: text,
    exceptions: text,
    ends: text,
    area: text,
    operate: text,
    pending: text.optional(),
  })
  .refine(hasDatesInOrder, datesInOrder)

const wirelessProhibited = z
  .strictObject({
    when: z.enum(['always', 'conditional']),
    ...dates,
    citation: text,
    scope: text,
    liftedBy: text,
    confidence,
  })
  .refine(hasDatesInOrder, datesInOrder)

/** Hours that have changed. */
const hoursOfTimes = {
  effectiveFrom: daySchema.optional(),
  history: historySchema.optional(),
}

function requireHistory<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema
    .refine((row) => 'history' in asRecord(row) === 'effectiveFrom' in asRecord(row), {
      path: ['effectiveFrom'],
      error: 'history and effectiveFrom go together',
      ...alwaysRefine,
    })
    .refine((row) => !('history' in asRecord(row)) || 'hours' in asRecord(row), {
      path: ['hours'],
      error: 'must be given where there is a history',
      ...alwaysRefine,
    })
    .refine((row) => followsHistory(asRecord(row)), {
      path: ['effectiveFrom'],
      error: 'must be the day after the last history row',
      ...alwaysRefine,
    })
}

function regionSchema(known: DefinedNames) {
  const region = z
    .strictObject({
      name: text,
      country,
      hours: weekSchema.optional(),
      ...hoursOfTimes,
      lenientHours: weekSchema.optional(),
      holidays: holidaysSchema(known).default([]),
      holidaysDisputed: holidaysSchema(known).default([]),
      holidaysLimited: holidaysSchema(known).default([]),
      observedPolicy: reference(known.policies, 'observedPolicies').optional(),
      proclaimedDays: z.boolean().default(false),
      emergency: rowsInOrder(emergencySchema).optional(),
      ebr: rowsInOrder(ebrSchema).optional(),
      wirelessProhibited: rowsInOrder(wirelessProhibited).optional(),
      automated: rowsInOrder(automatedSchema(known)).optional(),
      citation: text,
      confidence,
      sources: z.array(reference(known.sources, 'sources')).min(1, 'must name a source'),
      conflicts: z.array(text).optional(),
      notes: text.optional(),
    })
    .refine((row: PartialDocument) => !hasHolidays(row) || 'observedPolicy' in row, {
      path: ['observedPolicy'],
      error: 'is missing; a region with holidays needs one',
      ...alwaysRefine,
    })
  return requireHistory(region)
}

function baselineSchema(known: DefinedNames) {
  const baseline = z.strictObject({
    hours: weekSchema,
    ...hoursOfTimes,
    ebr: rowsInOrder(ebrSchema),
    citation: text,
    sources: z.array(reference(known.sources, 'sources')).min(1, 'must name a source'),
  })
  return requireHistory(baseline)
}

const sourceSchema = z.strictObject({
  kind: text,
  title: text,
  url: z.url('must be a URL').optional(),
})

/** See `ReleaseRule` in `src/law/reassigned-releases.ts`. */
const releaseSchema = z
  .strictObject({
    dayOfMonth: z.int().min(1, 'must be 1 to 28').max(28, 'must be 1 to 28'),
    daysUntilInUse: z.int().min(0, 'must be 0 to 14').max(14, 'must be 0 to 14'),
    ...datedRow,
  })
  .refine(hasDatesInOrder, datesInOrder)

const conversationSchema = z
  .strictObject({
    minSeconds: z.int().min(0, 'must be 0 to 120').max(120, 'must be 0 to 120'),
    ...datedRow,
  })
  .refine(hasDatesInOrder, datesInOrder)

function rowsWithIds<Row extends { readonly id: string }>(row: z.ZodType<Row>) {
  return z
    .array(row)
    .refine(
      (rows) => new Set(rows.map(({ id }) => id)).size === rows.length,
      'must have each id once',
    )
}

function documentSchema(known: DefinedNames) {
  const code = z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters')
  const region = reference(known.regions, 'regions')
  return z.strictObject({
    about: z.strictObject({ title: text, asOf: daySchema, scope: text }),
    baselines: z.strictObject({ US: baselineSchema(known), CA: baselineSchema(known) }),
    defaults: z.strictObject({ disputedHolidays: banOrAllow, limitedHolidays: banOrAllow }),
    observedPolicies: z.record(
      z.string(),
      z.strictObject({ saturday: observedShifts, sunday: observedShifts }),
    ),
    holidays: z.record(z.string(), z.strictObject({ name: text, rule: holidayRuleSchema })),
    disclosures: z.array(
      z
        .strictObject({
          key: z.enum(disclosureKeys, `must be one of ${disclosureKeys.join(', ')}`),
          callKinds: z.array(z.enum(callKinds)).min(1, 'must not be empty'),
          purposes: purposeList.optional(),
          countries: z.array(country).min(1, 'must not be empty').optional(),
          regions: z.array(region).min(1, 'must not be empty').optional(),
          ...dates,
          citation: text,
          confidence,
        })
        .refine(hasDatesInOrder, datesInOrder),
    ),
    purposes: purposesSchema(region),
    frequencyRules: z.array(frequencyRuleSchema(region)),
    abandonmentRules: z.array(abandonmentRuleSchema),
    revocation: revocationSchema(
      reference(known.holidays, 'holidays'),
      reference(known.policies, 'observedPolicies'),
    ),
    exceptions: rowsWithIds(exceptionSchema(region)),
    consentRequired: rowsWithIds(consentRuleSchema(region)),
    reassignedReleases: z.array(releaseSchema),
    conversations: z.array(conversationSchema),
    callerIdRules: z.array(callerIdRuleSchema(region)),
    regions: z.record(code, regionSchema(known)),
    sources: z.record(z.string(), sourceSchema),
  })
}

export type DocumentCheckResult =
  | { readonly ok: true; readonly document: CallingRulesDocument }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** Throws a {@link DataFileError} that lists every mistake in the file. */
export function loadCallingRules(path: string): CallingRules {
  const checked = checkCallingRules(readYamlFile(path))
  if (checked.ok) return new CallingRules(checked.document)
  const list = checked.problems.map((problem) => `\n  - ${describeProblem(problem)}`).join('')
  throw new DataFileError(path, `${checked.problems.length} mistake(s):${list}`)
}

/** Checks a parsed file and lists all of its mistakes, not only the first. */
export function checkCallingRules(raw: unknown): DocumentCheckResult {
  const keys = (field: string) => new Set(Object.keys(asRecord(asRecord(raw)[field])))
  const schema = documentSchema({
    holidays: keys('holidays'),
    regions: keys('regions'),
    policies: keys('observedPolicies'),
    sources: keys('sources'),
  })
  // Compiling the schema for a single use would take longer than the use.
  const parsed = schema.safeParse(raw, { jitless: true })
  return parsed.success
    ? { ok: true, document: parsed.data }
    : { ok: false, problems: listDocumentProblems(parsed.error, raw) }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
