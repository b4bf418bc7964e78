/**
 * The whole settings schema: every setting with its default, unit and description.
 * `load-settings.ts` fills it from file and environment.
 */
import { z } from 'zod'
import { asterisk } from './config-asterisk.js'
import { gate } from './config-gate.js'
import { lists } from './config-lists.js'
import { policy } from './config-policy.js'
import { limits, lookups, reputation, webhooks } from './config-service.js'
import { source } from './config-source.js'
import { file, instant, milliseconds, wholeNumber } from './config-values.js'
import { parseDay } from './domain/clock.js'

const moment = instant('2026-11-23T17:00:00Z')

const calendarDay = z
  .string()
  .refine((text) => parseDay(text) !== undefined, 'must be a date such as 2026-12-24')

const regionCode = z.string().regex(/^[A-Z]{2}$/, 'must be a two-letter region such as LA')

const proclaimedDay = z.strictObject({
  region: regionCode,
  date: calendarDay,
  name: z.string().min(1),
})

const emergency = z.strictObject({
  region: regionCode,
  from: moment,
  until: moment.optional(),
  postalPrefixes: z.array(z.string().min(1)).optional(),
  name: z.string().min(1),
  citation: z.string().optional(),
})

const everySetting = z.strictObject({
  dataDir: z
    .string()
    .regex(/^\S(?:.*\S)?$/, 'must not be empty, nor begin or end with a blank')
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
        .describe(
          'Largest request body; a larger one is refused with 413. Calls about one thing and lists ' +
            'of documented length take less',
        ),
      maxBodiesBytes: wholeNumber(1_048_576, 1_099_511_627_776)
        .default(67_108_864)
        .meta({ unit: 'bytes' })
        .describe(
          'All request bodies under way, beyond the first 16 KiB of each; one more is refused with ' +
            '503. One account may hold a quarter of it, senders without a key an eighth together',
        ),
      maxConnections: wholeNumber(10, 1_000_000)
        .default(1_000)
        .describe(
          'Open connections; one more takes the place of the oldest without a key, or else of the oldest idle one',
        ),
      headersTimeoutMs: milliseconds(100, 60_000)
        .default(5_000)
        .describe('How long a connection may take to send the line and headers of a request'),
      keysInAddress: z
        .boolean()
        .default(true)
        .describe(
          'Take an API key in the address of a request, where the call allows it. With false such a ' +
            'request is 401, so that no key gets into the logs of a proxy',
        ),
      requestTimeoutMs: milliseconds(1_000, 600_000)
        .default(30_000)
        .describe('How long it may take to send the whole request, body included'),
    })
    .prefault({}),
  storage: z
    .strictObject({
      engine: z.enum(['sqlite']).default('sqlite').describe('SQL engine'),
      lockWaitMs: milliseconds(1, 10_000)
        .default(100)
        .describe(
          'How long a write waits for another process that holds the database; decisions wait with ' +
            'it, so it must be below gate.deadlineMs',
        ),
      createDatabase: z
        .boolean()
        .default(true)
        .describe(
          'Make a database in a data folder that never held one. With false only callgate serve ' +
            '--init does, so that a volume that is not mounted is not taken for a new folder',
        ),
    })
    .prefault({}),
  lists: lists.prefault({}),
  numbering: z
    .strictObject({
      folder: file.describe(
        'Folder of the imported prefixes, which several nodes may share; <dataDir>/numbering ' +
          'unless given',
      ),
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
        .describe(
          'State and federal calling rules; a relative path is looked for in the working folder, ' +
            'then in the folder of the program. A missing file stops the start',
        ),
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
      at: moment
        .optional()
        .describe('Makes the sandbox account, and only it, answer as at this instant'),
    })
    .prefault({}),
  gate: gate.prefault({}),
  source: source.prefault({}),
  policy: policy.prefault({}),
  limits: limits.prefault({}),
  webhooks: webhooks.prefault({}),
  reputation: reputation.prefault({}),
  lookups: lookups.prefault({}),
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
  const { maxBodyBytes, maxBodiesBytes, headersTimeoutMs, requestTimeoutMs } = settings.http
  if (maxBodiesBytes < 4 * maxBodyBytes) {
    const rule = `must be at least four times http.maxBodyBytes, which is ${maxBodyBytes}`
    problem(['http', 'maxBodiesBytes'], rule)
  }
  if (requestTimeoutMs < headersTimeoutMs) {
    const rule = `must not be below http.headersTimeoutMs, which is ${headersTimeoutMs}`
    problem(['http', 'requestTimeoutMs'], rule)
  }
  const deadlineMs = gateDeadlineMs(settings)
  if (hasFallback && source.fallbackAfterMs >= deadlineMs) {
    problem(['source', 'fallbackAfterMs'], `must be below gate.deadlineMs, which is ${deadlineMs}`)
  }
  const { lockWaitMs } = settings.storage
  if (lockWaitMs >= deadlineMs) {
    const rule = `is ${lockWaitMs} and must be below gate.deadlineMs, which is ${deadlineMs}`
    problem(['storage', 'lockWaitMs'], `${rule}; lower the one or raise the other`)
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
export type LookupSettings = Settings['lookups']
export type WebhookSettings = Settings['webhooks']
export type ListSettings = Settings['lists']
export type PolicySettings = Settings['policy']

export type AsteriskSettings = Settings['asterisk']
export type TrunkSettings = AsteriskSettings['trunks'][number]
