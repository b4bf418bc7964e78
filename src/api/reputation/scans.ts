/** One-time reputation scans in the API (spec, "Reputation endpoints", OneTimeScan). */
import { z } from 'zod'
import {
  type ScanProgress,
  type ScanReceipt,
  type ScanRequest,
  scanStatuses,
  scanTypes,
} from '../../domain/reputation.js'
import { isUuid } from '../../runtime/uuid.js'
import { defineEndpoint, type Endpoint, maxListBodyBytes } from '../endpoint.js'
import { fields, optionalFlag } from '../fields.js'
import { wireObject } from '../wire-object.js'
import { numberList } from './monitored-number.js'

/** The limit of the other list endpoints; the spec gives none for this one. */
const maxNumbers = 10_000
/** Spec, "Limits". */
const maxTextLength = 1500

const phoneNumbers = numberList
  .refine(
    ({ length }) => length <= maxNumbers,
    `must have at most ${maxNumbers} numbers; submit several scans`,
  )
  .meta({ maxItems: maxNumbers })
  .describe(
    `At most ${maxNumbers} numbers of 10 digits. Duplicates are kept: each gets its own result and ` +
      'costs a credit',
  )

const urlRule = 'is required and must be text'

const notificationUrl = z
  .string(urlRule)
  .trim()
  .min(1, urlRule)
  .max(maxTextLength, `must not be longer than ${maxTextLength} characters`)
  .describe('Where the completion webhook is sent')

const hiddenValue = '(not shown)'

const notificationKey = z
  .unknown()
  .meta({ type: ['string', 'null'], maxLength: maxTextLength })
  .describe('Sent back in a header of the webhook; printable characters')
  .optional()
  .transform((input, context): string | undefined => {
    const text = typeof input === 'string' ? input.trim() : (input ?? '')
    const rule = findBrokenKeyRule(text)
    if (rule !== undefined) {
      context.addIssue({ code: 'custom', message: rule, input: hiddenValue })
      return z.NEVER
    }
    return String(text) || undefined
  })

function findBrokenKeyRule(key: unknown): string | undefined {
  if (typeof key !== 'string') return 'must be text'
  if (key.length > maxTextLength) return `must not be longer than ${maxTextLength} characters`
  return /^[\x20-\x7e]*$/.test(key)
    ? undefined
    : 'must be printable ASCII, since it is sent in a header'
}

/** Field names whose values error messages may show; any other field may be a misspelled key. */
const shownFieldNames: ReadonlySet<string> = new Set([
  'phonenumbers',
  'notificationurl',
  'scantype',
  'testnotificationurl',
])

/** Hides the value of a key that has a wrong name or is given twice, since the error must not repeat it. */
function hideMisplacedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const names = Object.entries(value)
    .filter(
      ([name, input]) => typeof input === 'string' && !shownFieldNames.has(name.toLowerCase()),
    )
    .map(([name]) => name)
  if (names.length === 1 && names[0]?.toLowerCase() === 'notificationapikey') return value
  return { ...value, ...Object.fromEntries(names.map((name) => [name, hiddenValue])) }
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
  rateClass: 'reputation',
  errors: 'problem',
} satisfies Partial<Endpoint<unknown, unknown>>

const wireReceipt = wireObject({
  jobId: ['JobId', z.string().describe('UUID; all zeros for a test of the notification URL')],
  status: ['Status', z.literal('Submitted')],
  phoneCount: [
    'PhoneCount',
    z.int().nonnegative().describe('0 for a test of the notification URL'),
  ],
})

export const scanSubmit = defineEndpoint<ScanRequest, ScanReceipt>({
  ...common,
  name: 'scan-submit',
  otherStatuses: { 403: 'The account may not scan, or has too few credits', 500: 'Internal error' },
  summary: 'Starts a scan of numbers for spam labels, or tests the notification URL.',
  method: 'POST',
  accepts: ['json'],
  maxBodyBytes: maxListBodyBytes,
  usesServiceThread: 'when-long',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request,
  countNumbers: ({ numbers }) => numbers.length,
  response: wireReceipt.schema,
  encode: (receipt) => ({ json: wireReceipt.write(receipt) }),
})

const labelState = z.enum(['Clean', 'Flagged']).nullable()
const appState = labelState.describe('null unless the scan type is carrierandapps')

/** One number of a scan (spec, "One-time scan job"). */
export const scanResult = z.object({
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
    .describe('Newest first, at most 10; null when there are none or the scan type is carrier'),
})

const wireStatus = wireObject({
  jobId: ['JobId', z.string()],
  status: ['Status', z.enum(scanStatuses)],
  phoneCount: ['PhoneCount', z.int().nonnegative()],
  processedCount: ['ProcessedCount', z.int().nonnegative().describe('Numbers processed so far')],
  results: [
    'Results',
    z
      .array(scanResult)
      .optional()
      .describe('In the order of the request; only when Status is Complete'),
  ],
})

const jobIdRule = 'must be the UUID of a scan job'

export const scanStatus = defineEndpoint<{ readonly jobId: string }, ScanProgress>({
  ...common,
  name: 'scan-status',
  otherStatuses: { 403: 'The job belongs to another account', 500: 'Internal error' },
  summary: 'Progress of a scan, and its results when it is complete.',
  method: 'GET',
  accepts: ['query'],
  usesServiceThread: 'always',
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
  response: wireStatus.schema,
  encode: (status) => ({ json: wireStatus.write({ results: undefined, ...status }) }),
})
