/**
 * The whole settings schema: every setting with its default, unit and description.
 * `load-settings.ts` fills it from file and environment.
 */
import { z } from 'zod'
import { asterisk } from './config-asterisk.js'
import { policy, source } from './config-source.js'
import { type Instant, parseDay, parseInstant } from './domain/clock.js'

const instant = z
  .string()
  .transform((text, context): Instant => {
    const at = parseInstant(text)
    if (at === undefined) {
      context.addIssue('must be an instant such as 2026-11-23T17:00:00Z')
      return z.NEVER
    }
    return at
  })
  .meta({ unit: 'ISO 8601 instant' })

const calendarDay = z
  .string()
  .refine((text) => parseDay(text) !== undefined, 'must be a date such as 2026-12-24')

const regionCode = z.string().regex(/^[A-Z]{2}$/, 'must be a two-letter region such as LA')

const milliseconds = (min: number, max: number) =>
  z.number().int().min(min).max(max).meta({ unit: 'ms' })

const proclaimedDay = z.strictObject({
  region: regionCode,
  date: calendarDay,
  name: z.string().min(1),
})

const emergency = z.strictObject({
  region: regionCode,
  from: instant,
  until: instant.optional(),
  postalPrefixes: z.array(z.string().min(1)).optional(),
  name: z.string().min(1),
  citation: z.string().optional(),
})

/** One rule per call kind, so each one's text names its kind. */
const stricter = (kind: string, byDefault: boolean) =>
  z
    .boolean()
    .default(byDefault)
    .describe(
      `For ${kind} calls a postal code adds to the places a number may be in instead of ` +
        'replacing them',
    )

const strictestPlace = z
  .strictObject({
    manual: stricter('manual', false),
    autodialed: stricter('autodialed', true),
    ai: stricter('AI', true),
  })
  .prefault({})

const gate = z.strictObject({
  account: z
    .string()
    .min(1)
    .default('main')
    .describe(
      'Account that calls from Asterisk are judged for, and `callgate check` when told none; a ' +
        'call over HTTP is judged for the account of its key',
    ),
  deadlineMs: milliseconds(10, 60_000)
    .optional()
    .describe(
      'Every decision is answered within this time; what has not answered is unknown. Unset: 250, ' +
        'and 1500 with source.kind remote',
    ),
  maxPending: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(2_000)
    .describe('Decisions under way at once; one more is blocked as overloaded'),
  nonNanp: z
    .enum(['block', 'allow'])
    .default('block')
    .describe(
      'What becomes of extensions and numbers of other countries, which are never looked up',
    ),
  serviceCodes: z
    .array(z.string().regex(/^\d{2,10}$/, 'must be 2 to 10 digits'))
    .default([])
    .describe('More emergency and service numbers that always pass, beside 911, 933, 988 and N11'),
  recordedVoiceWindows: z
    .boolean()
    .default(true)
    .describe('AI and autodialed calls must also respect the state window for recorded voices'),
  projectMayWiden: z
    .boolean()
    .default(false)
    .describe('Whether a project may set calling hours wider than the law'),
  strictestPlace,
  allowValidMs: milliseconds(1_000, 3_600_000)
    .default(60_000)
    .describe('How long an allow may be acted on, at most'),
  blockValidMs: milliseconds(1_000, 86_400_000)
    .default(600_000)
    .describe('How long a block need not be asked again, at most'),
  cache: z
    .strictObject({
      maxEntries: z
        .number()
        .int()
        .min(0)
        .max(10_000_000)
        .default(100_000)
        .describe('Numbers whose answers are kept, per question'),
      allowMs: milliseconds(0, 3_600_000)
        .default(300_000)
        .describe('How long an answer that permits is kept, at most'),
      blockMs: milliseconds(0, 86_400_000)
        .default(3_600_000)
        .describe('How long an answer that forbids is kept, at most'),
    })
    .prefault({}),
})

const everySetting = z.strictObject({
  dataDir: z
    .string()
    .min(1)
    .default('./var')
    .describe('Folder of the database, imported lists and numbering data'),
  logLevel: z
    .enum(['error', 'warn', 'info', 'debug'])
    .default('info')
    .describe('error: someone must act; warn: healed or degraded; info: life cycle and decisions'),
  http: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
      port: z.number().int().min(0).max(65_535).default(8480).describe('Port to listen on'),
      maxBodyBytes: z
        .number()
        .int()
        .min(1_024)
        .max(1_073_741_824)
        .default(8_388_608)
        .meta({ unit: 'bytes' })
        .describe('Largest request body; a larger one is refused with 413'),
    })
    .prefault({}),
  storage: z
    .strictObject({
      engine: z.enum(['sqlite']).default('sqlite').describe('SQL engine'),
      lockWaitMs: milliseconds(1, 10_000)
        .default(100)
        .describe(
          'How long a write waits for another process; decisions wait with it, so keep it below ' +
            'gate.deadlineMs',
        ),
    })
    .prefault({}),
  numbering: z
    .strictObject({
      unknownPrefix: z
        .enum(['area-code', 'strict'])
        .default('area-code')
        .describe(
          'Without imported prefixes: judge by area code, every candidate zone must permit; or ' +
            'treat every number as unknown',
        ),
    })
    .prefault({}),
  callingHours: z
    .strictObject({
      rulesFile: z
        .string()
        .min(1)
        .default('config/calling-rules.yaml')
        .describe('State and federal calling rules; the shipped file when the path does not exist'),
      wrappedRows: z
        .boolean()
        .default(false)
        .describe('Answer IsTimeLegalToCall as [{"Response": [rows]}] instead of a flat list'),
      proclaimedDays: z
        .array(proclaimedDay)
        .default([])
        .describe('Days closed by proclamation: region, date, name'),
      emergencies: z
        .array(emergency)
        .default([])
        .describe(
          'Emergencies that bar calls: region, from, until, postalPrefixes, name, citation',
        ),
    })
    .prefault({}),
  sandbox: z
    .strictObject({
      file: z
        .string()
        .min(1)
        .default('config/sandbox.yaml')
        .describe('The fixed facts of the sandbox account'),
      at: instant
        .optional()
        .describe('Makes the sandbox account, and only it, answer as at this instant'),
    })
    .prefault({}),
  gate: gate.prefault({}),
  source: source.prefault({}),
  policy: policy.prefault({}),
  asterisk: asterisk.prefault({}),
})

/** The time for a decision; a provider far away takes longer than our own service. */
export function gateDeadlineMs({ gate, source }: Pick<Settings, 'gate' | 'source'>): number {
  return gate.deadlineMs ?? (source.kind === 'remote' ? 1_500 : 250)
}

/** What does not go together. */
export const settingsSchema = everySetting.superRefine((settings, context) => {
  const { source, gate } = settings
  const problem = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message })
  const isSecondAsked = source.kind === 'remote' && source.secondProvider.baseUrl !== undefined
  const hasFallback = isSecondAsked && source.combine === 'fallback'
  const deadlineMs = gateDeadlineMs(settings)
  if (hasFallback && source.fallbackAfterMs >= deadlineMs) {
    problem(['source', 'fallbackAfterMs'], `must be below gate.deadlineMs, which is ${deadlineMs}`)
  }
  const keepsStale = source.kind === 'remote' && gate.cache.maxEntries > 0
  for (const [check, { staleForMs }] of Object.entries(settings.policy)) {
    if (staleForMs === 0 || keepsStale) continue
    const rule = 'has no effect without source.kind remote and gate.cache.maxEntries'
    problem(['policy', check, 'staleForMs'], rule)
  }
})

export type Settings = z.output<typeof everySetting>

export type SourceSettings = Settings['source']
export type ProviderSettings = SourceSettings['provider']
export type PolicySettings = Settings['policy']

export type AsteriskSettings = Settings['asterisk']
export type TrunkSettings = AsteriskSettings['trunks'][number]
