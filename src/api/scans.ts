/** One-time reputation scans on the wire (spec, "Reputation endpoints", OneTimeScan). */
import { z } from 'zod'
import { isUuid } from '../domain/ids.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { type Endpoint, endpoint, listBodyBytes } from './endpoint.js'
import { fields, optionalFlag } from './fields.js'
import { numberList } from './reputation-record.js'

const scanTypes = ['carrier', 'carrierandapps'] as const
const scanStatuses = ['Submitted', 'Processing', 'Complete', 'Failed'] as const

export interface ScanRequest {
  /** As given, duplicates kept. */
  readonly numbers: readonly PhoneNumber[]
  readonly notificationUrl: string
  /** A secret: in no answer, log or error. */
  readonly notificationKey: string | undefined
  readonly scanType: (typeof scanTypes)[number]
  readonly testOnly: boolean
}

export interface ScanAccepted {
  readonly jobId: string
  readonly status: 'Submitted'
  /** 0 for a test of the address. */
  readonly phoneCount: number
}

export interface ScanStatusRequest {
  /** In lower case. */
  readonly jobId: string
}

export interface ScanStatus {
  readonly jobId: string
  readonly status: (typeof scanStatuses)[number]
  readonly phoneCount: number
  readonly processedCount: number
  readonly results?: readonly ScanResult[] | undefined
}

/** The limit of the other calls that take lists; the spec gives none for this one. */
const mostNumbers = 10_000
/** Spec, "Limits". */
const longestText = 1500

const phoneNumbers = numberList
  .refine(
    ({ length }) => length <= mostNumbers,
    `must hold at most ${mostNumbers} numbers; submit several scans`,
  )
  .meta({ maxItems: mostNumbers })
  .describe(
    `At most ${mostNumbers} numbers of 10 digits. Duplicates are kept: each has its result and ` +
      'costs a credit',
  )

const urlRule = 'is required and must be text'

const notificationUrl = z
  .string(urlRule)
  .trim()
  .min(1, urlRule)
  .max(longestText, `must not be longer than ${longestText} characters`)
  .describe('Where the completion webhook is sent')

const notShown = '(not shown)'

const notificationKey = z
  .unknown()
  .meta({ type: ['string', 'null'], maxLength: longestText })
  .describe('Sent back in a header of the webhook; printable characters')
  .optional()
  .transform((given, context): string | undefined => {
    const text = typeof given === 'string' ? given.trim() : (given ?? '')
    const rule = brokenKeyRule(text)
    if (rule !== undefined) {
      context.addIssue({ code: 'custom', message: rule, input: notShown })
      return z.NEVER
    }
    return String(text) || undefined
  })

function brokenKeyRule(key: unknown): string | undefined {
  if (typeof key !== 'string') return 'must be text'
  if (key.length > longestText) return `must not be longer than ${longestText} characters`
  return /^[\x20-\x7e]*$/.test(key) ? undefined : 'must be printable ASCII, as it goes in a header'
}

/** Whatever else stands in a request may be a key under a misspelt name. */
const openFields: ReadonlySet<string> = new Set([
  ...['phonenumbers', 'notificationurl', 'scantype', 'testnotificationurl'],
])

/** A key under a wrong name, or given twice, is refused; what it is must not be in that answer. */
function hideMisplacedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const names = Object.entries(value)
    .filter(([name, given]) => typeof given === 'string' && !openFields.has(name.toLowerCase()))
    .map(([name]) => name)
  if (names.length === 1 && names[0]?.toLowerCase() === 'notificationapikey') return value
  return { ...value, ...Object.fromEntries(names.map((name) => [name, notShown])) }
}

const scanTypeRule = `is required and must be one of ${scanTypes.join(', ')}`

const request = z
  .preprocess(
    hideMisplacedKeys,
    fields({
      PhoneNumbers: phoneNumbers,
      NotificationURL: notificationUrl,
      NotificationAPIKey: notificationKey,
      ScanType: z
        .string(scanTypeRule)
        .meta({ enum: scanTypes })
        .transform((text) => text.trim().toLowerCase())
        .pipe(z.enum(scanTypes, scanTypeRule)),
      TestNotificationURL: optionalFlag.describe(
        'Sends a test payload to NotificationURL and performs no scan',
      ),
    }),
  )
  .transform(
    (wire): ScanRequest => ({
      numbers: wire.PhoneNumbers,
      notificationUrl: wire.NotificationURL,
      notificationKey: wire.NotificationAPIKey,
      scanType: wire.ScanType,
      testOnly: wire.TestNotificationURL,
    }),
  )

const common = {
  spec: 'Reputation endpoints',
  paths: ['/v1.5/Reputation/OneTimeScan'],
  rate: 'reputation',
  errors: 'problem',
} satisfies Partial<Endpoint<unknown, unknown>>

export const scanSubmit = endpoint<ScanRequest, ScanAccepted>({
  ...common,
  name: 'scan-submit',
  outcomes: { 403: 'The account may not scan, or has too few credits', 500: 'Internal error' },
  summary: 'Starts a scan of numbers for spam labels, or tests where its end is notified.',
  method: 'POST',
  accepts: ['json'],
  maxBodyBytes: listBodyBytes,
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request,
  numbers: ({ numbers }) => numbers.length,
  response: z
    .object({
      JobId: z.string().describe('UUID; all zero for a test of the address'),
      Status: z.literal('Submitted'),
      PhoneCount: z.int().nonnegative().describe('0 for a test of the address'),
    })
    .transform((wire) => ({
      ...{ jobId: wire.JobId, status: wire.Status, phoneCount: wire.PhoneCount },
    })),
  encode: ({ jobId, status, phoneCount }) => ({
    json: { JobId: jobId, Status: status, PhoneCount: phoneCount },
  }),
})

const labelState = z.enum(['Clean', 'Flagged']).nullable()
const appState = labelState.describe('null unless the scan type is carrierandapps')

/** One number of a scan (spec, "One-time scan job"). */
const wireScanResult = z.object({
  Phone: z.string(),
  CurrScore: z.enum(['Clean', 'Medium', 'High']),
  CarrierAScore: labelState,
  CarrierBScore: labelState.describe('null for Canadian accounts'),
  CarrierCScore: labelState,
  AppAStatus: appState,
  AppBStatus: appState,
  FTCComplaints: z
    .array(
      z.object({
        FTCComplaintId: z.string(),
        Phone: z.string(),
        CreatedDate: z.string().describe('MM/DD/YYYY HH:MM:SS'),
        ViolationDate: z.string().describe('MM/DD/YYYY HH:MM:SS'),
        Subject: z.string(),
      }),
    )
    .readonly()
    .nullable()
    .describe(
      'Newest first, at most 10; null when there are none or the scan is of carriers alone',
    ),
})

/** In the form the wire has, since the notification of the job carries the same. */
export type ScanResult = Readonly<z.output<typeof wireScanResult>>

const jobIdRule = 'must be the UUID of a scan job'

export const scanStatus = endpoint<ScanStatusRequest, ScanStatus>({
  ...common,
  name: 'scan-status',
  outcomes: { 403: 'The job belongs to another account', 500: 'Internal error' },
  summary: 'How far a scan is, and its results when it is complete.',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    jobId: z
      .string({
        error: ({ input }) => (input === undefined ? `is required and ${jobIdRule}` : jobIdRule),
      })
      .meta({ format: 'uuid' })
      .transform((text) => text.trim().toLowerCase())
      .refine(isUuid, jobIdRule),
  }),
  response: z
    .object({
      JobId: z.string(),
      Status: z.enum(scanStatuses),
      PhoneCount: z.int().nonnegative(),
      ProcessedCount: z.int().nonnegative().describe('Numbers processed so far'),
      Results: z
        .array(wireScanResult)
        .optional()
        .describe('In the order of the request; only when Status is Complete'),
    })
    .transform((wire) => ({
      ...{ jobId: wire.JobId, status: wire.Status, phoneCount: wire.PhoneCount },
      ...{ processedCount: wire.ProcessedCount, results: wire.Results },
    })),
  encode: ({ jobId, status, phoneCount, processedCount, results }) => ({
    json: {
      ...{ JobId: jobId, Status: status, PhoneCount: phoneCount, ProcessedCount: processedCount },
      ...(results && { Results: results }),
    },
  }),
})
