/**
 * The complete settings schema: every setting with its default, unit and description.
 * `load.ts` reads the values from file and environment.
 */
import { z } from 'zod'
import { parseDay } from '../domain/time/dates.js'
import { asteriskSchema } from './asterisk.js'
import { consoleSchema } from './console.js'
import { edgeSchema } from './edge.js'
import { gateSchema } from './gate.js'
import { witnessesSchema } from './journal.js'
import { listsSchema } from './lists.js'
import { permitsSchema } from './permits.js'
import { optOutsSchema, policySchema } from './policy.js'
import {
  limitsSchema,
  lookupsSchema,
  reputationSchema,
  twoPeopleSchema,
  webhooksSchema,
} from './service.js'
import { hasBudget, sourceSchema } from './source.js'
import {
  addProblem,
  filePath,
  httpUrl,
  instant,
  milliseconds,
  postgresUrl,
  region,
  reloadable,
  shortName,
  text,
  wholeNumber,
} from './values.js'

const instantSetting = instant('2026-11-23T17:00:00Z')

const calendarDay = z
  .string()
  .refine((text) => parseDay(text) !== undefined, 'must be a date such as 2026-12-24')

const proclaimedDay = z.strictObject({
  region: region,
  date: calendarDay,
  name: text,
})

const emergency = z.strictObject({
  region: region,
  from: instantSetting,
  until: instantSetting.optional(),
  postalPrefixes: z.array(text).optional(),
  name: text,
  citation: z.string().optional(),
})

const settingsShape = z.strictObject({
  dataDir: z
    .string()
    .regex(/^\S(?:.*\S)?$/, 'must not be empty, nor begin or end with a space')
    .default('./var')
    .describe('Folder of the database, imported lists and numbering data'),
  logLevel: z
    .enum(['error', 'warn', 'info', 'debug'])
    .default('info')
    .meta(reloadable)
    .describe(
      'error: someone must act; warn: recovered or degraded; info: life cycle and decisions',
    ),
  http: z
    .strictObject({
      host: text.default('127.0.0.1').describe('Address to listen on'),
      port: wholeNumber(0, 65_535).default(8480).describe('Port to listen on'),
      maxBodyBytes: wholeNumber(1_024, 1_073_741_824)
        .default(8_388_608)
        .meta({ unit: 'bytes' })
        .describe(
          'Largest request body; a larger one is refused with 413. Calls without lists accept at most ' +
            '64 KiB, and some with lists at most 1 MiB',
        ),
      maxBodiesBytes: wholeNumber(1_048_576, 1_099_511_627_776)
        .default(67_108_864)
        .meta({ unit: 'bytes' })
        .describe(
          'Total size of request bodies in progress, beyond the first 16 KiB of each; requests above ' +
            'it are refused with 503. One account may use a quarter of it, all senders without a key an eighth',
        ),
      maxConnections: wholeNumber(10, 1_000_000)
        .default(1_000)
        .describe(
          'Maximum open connections; a new one beyond it closes the oldest without a key, or else the oldest idle one. ' +
            'One account may have half of them; one more closes its oldest idle one',
        ),
      headersTimeoutMs: milliseconds(100, 60_000)
        .default(5_000)
        .describe('How long a connection may take to send the request line and headers'),
      keysInAddress: z
        .boolean()
        .default(true)
        .describe(
          'Accept an API key in the query of a request, where the call allows it. With false such a ' +
            'request is refused with 401, so that no key gets into the logs of a proxy',
        ),
      serviceThreads: wholeNumber(0, 64)
        .default(1)
        .describe(
          'Threads that answer requests with long lists or long answers, so that decisions do not wait ' +
            'for them. A thread starts when it is first needed, which takes that request about 0.7 s ' +
            'longer, and takes about 70 MB. 0: all requests are answered in one thread',
        ),
      requestTimeoutMs: milliseconds(1_000, 600_000)
        .default(30_000)
        .describe('How long a connection may take to send the whole request, body included'),
    })
    .prefault({}),
  console: consoleSchema.prefault({}),
  storage: z
    .strictObject({
      engine: z
        .enum(['sqlite', 'postgres'])
        .default('sqlite')
        .describe(
          'Where accounts, keys, projects, opt-outs, permission records and consents are: in a file of the data folder, or in ' +
            'the PostgreSQL database of storage.url. Decisions are in the journal of the data folder',
        ),
      url: postgresUrl
        .optional()
        .describe('postgres://user@host:5432/database; without a password'),
      passwordFile: filePath.describe('File with the password of storage.url on its first line'),
      tls: z
        .boolean()
        .default(true)
        .describe('Encrypt connections to PostgreSQL, and check its certificate'),
      caFile: filePath.describe(
        'File with the certificate authorities that PostgreSQL may be certified by; those of Node.js by default',
      ),
      maxConnections: wholeNumber(2, 200)
        .default(10)
        .describe(
          'Connections to PostgreSQL at most, with one more for the changes of others and at most 2 for each service thread and for the copy of decisions',
        ),
      lockWaitMs: milliseconds(1, 10_000)
        .default(100)
        .describe(
          'How long a write to the database, such as an opt-out, waits while another process has it ' +
            'locked; must be below gate.deadlineMs. Decisions are written to the journal and do not wait',
        ),
      createDatabase: z
        .boolean()
        .default(true)
        .describe(
          'Create a database in a data folder that never had one. With false only callgate serve ' +
            '--init does, so that an unmounted volume is not mistaken for a new folder',
        ),
    })
    .prefault({}),
  cluster: z
    .strictObject({
      maxStalenessMs: milliseconds(200, 1_000)
        .default(500)
        .describe(
          'With storage.engine postgres: how old, when an allow leaves, may be the moment until which ' +
            'this server knows what others have stored. Beyond it calls are blocked (not-current)',
        ),
      servers: wholeNumber(1, 20)
        .default(1)
        .describe(
          'How many servers ask the same providers. Each keeps to its part of every requestsPerMinute of ' +
            'source and lookups, so that together they keep to the whole',
        ),
    })
    .prefault({}),
  edge: edgeSchema.prefault({}),
  journal: z
    .strictObject({
      keepYears: z
        .number()
        .int()
        .min(5, 'must be at least 5: 16 CFR 310.5 asks for records of each call for five years')
        .max(100)
        .default(5)
        .meta({ unit: 'years' })
        .describe(
          'How long decisions and their numbers are kept; then they are removed by month. At least 5: 16 ' +
            'CFR 310.5 (Telemarketing Sales Rule) asks for records of each call for five years',
        ),
      signingKeyFile: filePath.describe(
        'The private key that signs the records, made at the first start; default <dataDir>/journal.key. ' +
          'Whoever can write to both the journal and this file can rewrite it unseen, except by a witness',
      ),
      witnesses: witnessesSchema,
    })
    .prefault({}),
  retention: z
    .strictObject({
      auditDays: z
        .number()
        .int()
        .min(1_827, 'must be at least 1827, which are five years: 16 CFR 310.5')
        .max(36_525)
        .default(2_557)
        .meta({ unit: 'days' })
        .describe(
          'How long it is kept who changed what and who read about whom (callgate audit); 2557 days are seven years. At ' +
            'least 1827, which are five years, as for decisions',
        ),
    })
    .prefault({}),
  lists: listsSchema.prefault({}),
  numbering: z
    .strictObject({
      folder: filePath.describe(
        'Folder of the imported prefixes, which several nodes may share; default ' +
          '<dataDir>/numbering',
      ),
      unknownPrefix: z
        .enum(['area-code', 'strict'])
        .default('area-code')
        .describe(
          'Without imported prefixes: decide by area code, where every possible time zone must ' +
            'permit the call; or treat every number as unknown',
        ),
    })
    .prefault({}),
  callingHours: z
    .strictObject({
      rulesFile: text
        .default('config/calling-rules.yaml')
        .meta(reloadable)
        .describe(
          'State and federal calling rules; a relative path is resolved in the working folder, ' +
            'then in the folder of the program. A missing file stops the start',
        ),
      wrappedRows: z
        .boolean()
        .default(false)
        .describe('Answer IsTimeLegalToCall as [{"Response": [rows]}] instead of a flat list'),
      proclaimedDays: z
        .array(proclaimedDay)
        .default([])
        .meta(reloadable)
        .describe('Days closed by proclamation: region, date, name'),
      emergencies: z
        .array(emergency)
        .default([])
        .meta(reloadable)
        .describe(
          'Emergencies that prohibit calls: region, from, until, postalPrefixes, name, citation',
        ),
    })
    .prefault({}),
  sandbox: z
    .strictObject({
      file: text
        .default('config/sandbox.yaml')
        .meta(reloadable)
        .describe('The fixed facts of the sandbox account'),
      at: instantSetting.optional().describe('Fixed time for the sandbox account only'),
    })
    .prefault({}),
  gate: gateSchema.prefault({}),
  source: sourceSchema.prefault({}),
  policy: policySchema.prefault({}),
  optOuts: optOutsSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  twoPeople: twoPeopleSchema.prefault({}),
  webhooks: webhooksSchema.prefault({}),
  reputation: reputationSchema.prefault({}),
  lookups: lookupsSchema.prefault({}),
  asterisk: asteriskSchema.prefault({}),
  permits: permitsSchema.prefault({}),
  tracing: z
    .strictObject({
      otlpUrl: httpUrl
        .optional()
        .describe(
          'Collector for OpenTelemetry spans over OTLP/HTTP, such as http://localhost:4318; they are sent ' +
            'as JSON to /v1/traces below it. Default: no spans are recorded',
        ),
      serviceName: shortName.default('callgate').describe('service.name of the spans'),
      sampleRatio: z
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe(
          'Share of the decisions without a traceparent whose spans are exported, from 0 to 1. With one, ' +
            'its sampled flag decides',
        ),
    })
    .prefault({}),
})

/** The time limit of a decision; a provider needs more than the embedded service. */
export function resolveGateDeadlineMs({
  gate,
  source,
  lookups,
}: Pick<Settings, 'gate' | 'source' | 'lookups'>): number {
  const asksProvider =
    source.kind === 'remote' || (lookups.baseUrl !== undefined && lookups.asksForCalls)
  return gate.deadlineMs ?? (asksProvider ? 1_500 : 250)
}

/** Rules that involve settings of several sections. */
export const settingsSchema = settingsShape.superRefine((settings, context) => {
  const { source, gate } = settings
  const problem = (path: readonly string[], message: string) => addProblem(context, path, message)
  const hasSecondProvider = source.kind === 'remote' && source.secondProvider.baseUrl !== undefined
  const hasFallback = hasSecondProvider && source.combine === 'fallback'
  const { maxBodyBytes, maxBodiesBytes, headersTimeoutMs, requestTimeoutMs } = settings.http
  if (maxBodiesBytes < 4 * maxBodyBytes) {
    const rule = `must be at least four times http.maxBodyBytes, which is ${maxBodyBytes}`
    problem(['http', 'maxBodiesBytes'], rule)
  }
  if (requestTimeoutMs < headersTimeoutMs) {
    const rule = `must not be below http.headersTimeoutMs, which is ${headersTimeoutMs}`
    problem(['http', 'requestTimeoutMs'], rule)
  }
  const deadlineMs = resolveGateDeadlineMs(settings)
  if (hasFallback && source.fallbackAfterMs >= deadlineMs) {
    problem(['source', 'fallbackAfterMs'], `must be below gate.deadlineMs, which is ${deadlineMs}`)
  }
  const trunks = new Set(settings.asterisk.trunks.map(({ name }) => name))
  for (const [index, name] of gate.shadow.trunks.entries()) {
    if (trunks.has(name)) continue
    problem(
      ['gate', 'shadow', 'trunks', String(index)],
      'must be the name of a trunk of asterisk.trunks',
    )
  }
  const { lockWaitMs } = settings.storage
  if (lockWaitMs >= deadlineMs) {
    const rule = `is ${lockWaitMs} and must be below gate.deadlineMs, which is ${deadlineMs}`
    problem(['storage', 'lockWaitMs'], `${rule}; lower lockWaitMs or raise deadlineMs`)
  }
  requireCluster(settings, problem)
  if (source.kind === 'remote' && gate.purposes.length > 0) {
    const rule =
      "must be empty with source.kind remote: a provider's answers are about telemarketing"
    problem(['gate', 'purposes'], rule)
  }
  if (source.kind === 'remote' && gate.exceptions.length > 0) {
    const rule =
      'must be empty with source.kind remote: a provider does not report the day of a relationship'
    problem(['gate', 'exceptions'], rule)
  }
  const keepsStale = source.kind === 'remote' && gate.cache.maxEntries > 0
  for (const [check, { staleForMs = 0 }] of Object.entries(settings.policy)) {
    if (staleForMs === 0 || keepsStale) continue
    const rule = 'has no effect without source.kind remote and gate.cache.maxEntries'
    problem(['policy', check, 'staleForMs'], rule)
  }
})

/** Rules of several servers over a database, and of edges. */
function requireCluster(
  settings: Settings,
  problem: (path: readonly string[], message: string) => void,
): void {
  if (settings.storage.engine === 'postgres') {
    const rule = 'with storage.engine postgres'
    const { url } = settings.storage
    if (url === undefined) problem(['storage', 'url'], `must be given ${rule}`)
    const { centers } = settings.edge
    if (centers.length > 0) problem(['edge', 'centers'], `must be empty ${rule}`)
  }
  const isEdge = settings.edge.centers.length > 0
  for (const { path, budget } of listProviders(settings)) {
    if (!isEdge || !hasBudget(budget)) continue
    const rule = 'must have no limit with edge.centers: each edge would count by itself'
    problem([...path, 'budget'], rule)
  }
  const { servers } = settings.cluster
  for (const { path, requestsPerMinute } of listProviderRates(settings)) {
    if (requestsPerMinute >= servers) continue
    problem(
      path,
      `is ${requestsPerMinute} and must be at least cluster.servers, which is ${servers}`,
    )
  }
}

/** The providers that are asked. */
export function listProviders({ source, lookups }: Settings) {
  return [
    { path: ['source', 'provider'], ...source.provider },
    { path: ['source', 'secondProvider'], ...source.secondProvider },
    { path: ['lookups'], ...lookups },
  ].filter(({ baseUrl }) => baseUrl !== undefined)
}

function listProviderRates({ source, lookups }: Settings) {
  const ofQuestions = (['provider', 'secondProvider'] as const).flatMap((which) =>
    (['scrub', 'internalDnc', 'litigator', 'legalTime'] as const).map((question) => ({
      path: ['source', which, question, 'requestsPerMinute'],
      requestsPerMinute: source[which][question].requestsPerMinute,
    })),
  )
  const { requestsPerMinute } = lookups
  return [...ofQuestions, { path: ['lookups', 'requestsPerMinute'], requestsPerMinute }]
}

export type Settings = z.output<typeof settingsShape>

type SourceSettings = Settings['source']
export type ProviderSettings = SourceSettings['provider']
export type ListSettings = Settings['lists']
export type WitnessSettings = Settings['journal']['witnesses'][number]

export type AsteriskSettings = Settings['asterisk']
export type TrunkSettings = AsteriskSettings['trunks'][number]
