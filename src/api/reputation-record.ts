/**
 * Monitored numbers and FTC complaints on the wire (spec, "Monitored-number record" and "FTC
 * complaint object"), as the calls of the reputation monitor read and write them.
 */
import { z } from 'zod'
import type { Complaint } from '../domain/labels.js'
import { asPhoneNumber, type PhoneNumber, phoneNumber } from '../domain/phone-number.js'
import { forEachInSlices } from '../domain/slices.js'
import { numberAsText } from './fields.js'

const scores = ['Clean', 'Medium', 'High', 'Processing'] as const
const historicalScores = ['0', '1', '2', '3', '4', '5'] as const
const labelStatuses = ['Clean', 'Flagged', 'Processing'] as const
type LabelStatus = (typeof labelStatuses)[number]

const sources = ['CarrierA', 'CarrierB', 'CarrierC', 'AppA', 'AppB'] as const

export interface NumberScores {
  readonly legalEntityId: number | null
  readonly currScore: (typeof scores)[number]
  /** Highest of the last 15 days. */
  readonly maxScore: (typeof scores)[number]
  readonly historicalScore: (typeof historicalScores)[number]
  readonly labels: Readonly<Record<(typeof sources)[number], LabelStatus>>
  /** The newest, newest first; null when there are none. */
  readonly complaints: readonly Complaint[] | null
}

export interface NumberRecord {
  readonly phone: PhoneNumber
  /** Absent when the account does not monitor the number. */
  readonly scores?: NumberScores | undefined
}

/** Texts of the spec; the last is ours. */
export const outcomes = {
  added: 'Phone number added to monitor',
  current: 'Phone number current score',
  removed: 'Phone number removed from monitor',
  'not-monitored': 'Phone number is not monitored',
} as const
export type Outcome = keyof typeof outcomes

const phoneRule = 'must be text: exactly 10 digits'

export const tenDigits = z
  .preprocess(numberAsText, z.string(phoneRule).regex(/^\d{10}$/, phoneRule))
  .transform((text): PhoneNumber => phoneNumber(text))
  .describe('10 digits')

const word = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(', ')}`)

const text = z.string('must be text')
const filedAt = text.describe('`MM/DD/YYYY HH:MM:SS`, as filed, without a time zone')

/** Reads one complaint (spec, "FTC complaint object"). */
export const wireComplaint = z
  .object({
    FTCComplaintId: text,
    Phone: tenDigits.describe('The number complained about'),
    CreatedDate: filedAt,
    ViolationDate: filedAt,
    City: text.describe("The complainant's, as the next two"),
    State: text,
    AreaCode: text,
    Subject: text.describe('Category of the complaint'),
    RecordedMessageOrRobocall: text.describe('`Y` when it is a robocall complaint'),
  })
  .transform(
    (wire): Complaint => ({
      id: wire.FTCComplaintId,
      phone: wire.Phone,
      createdDate: wire.CreatedDate,
      violationDate: wire.ViolationDate,
      city: wire.City,
      state: wire.State,
      areaCode: wire.AreaCode,
      subject: wire.Subject,
      recordedMessageOrRobocall: wire.RecordedMessageOrRobocall === 'Y' ? 'Y' : 'N',
    }),
  )

export function complaintToWire(complaint: Complaint): z.input<typeof wireComplaint> {
  return {
    FTCComplaintId: complaint.id,
    Phone: complaint.phone,
    CreatedDate: complaint.createdDate,
    ViolationDate: complaint.violationDate,
    City: complaint.city,
    State: complaint.state,
    AreaCode: complaint.areaCode,
    Subject: complaint.subject,
    RecordedMessageOrRobocall: complaint.recordedMessageOrRobocall,
  }
}

const label = word(labelStatuses).describe(
  '`Processing` until the source was first heard, and for a source that is not asked for the account',
)

const monitored = z
  .object({
    Response: text.describe('What was done with the number'),
    Phone: tenDigits,
    LegalEntityId: z.int('must be a whole number or null').nullish(),
    CurrScore: word(scores).describe('`Processing` until every source was heard once'),
    MaxScore: word(scores).describe('Highest level of the last 15 days'),
    HistoricalScore: word(historicalScores).describe(
      '0 or 1: no issues; 5: half or more of the looks that are kept were High',
    ),
    CarrierAScore: label,
    CarrierBScore: label,
    CarrierCScore: label,
    AppAStatus: label,
    AppBStatus: label,
    FTCComplaints: z
      .array(wireComplaint)
      .nullish()
      .describe('Newest first; null when there are none'),
  })
  .transform(
    (wire): NumberRecord => ({
      phone: wire.Phone,
      scores: {
        legalEntityId: wire.LegalEntityId ?? null,
        currScore: wire.CurrScore,
        maxScore: wire.MaxScore,
        historicalScore: wire.HistoricalScore,
        labels: {
          CarrierA: wire.CarrierAScore,
          CarrierB: wire.CarrierBScore,
          CarrierC: wire.CarrierCScore,
          AppA: wire.AppAStatus,
          AppB: wire.AppBStatus,
        },
        complaints: wire.FTCComplaints ?? null,
      },
    }),
  )

const notMonitored = z
  .strictObject({ Response: text.describe('The account does not monitor it'), Phone: tenDigits })
  .transform(({ Phone }): NumberRecord => ({ phone: Phone }))

/** Reads one record; a number that is not monitored has no scores. */
export const wireRecord = z.union([monitored, notMonitored])

/** `outcome` is that of a monitored number. */
export function recordToWire(
  { phone, scores: known }: NumberRecord,
  outcome: Outcome,
): z.input<typeof wireRecord> {
  if (known === undefined) return { Response: outcomes['not-monitored'], Phone: phone }
  return {
    Response: outcomes[outcome],
    Phone: phone,
    LegalEntityId: known.legalEntityId,
    CurrScore: known.currScore,
    MaxScore: known.maxScore,
    HistoricalScore: known.historicalScore,
    CarrierAScore: known.labels.CarrierA,
    CarrierBScore: known.labels.CarrierB,
    CarrierCScore: known.labels.CarrierC,
    AppAStatus: known.labels.AppA,
    AppBStatus: known.labels.AppB,
    FTCComplaints: known.complaints?.map(complaintToWire) ?? null,
  }
}

const mostShown = 20

/**
 * A bare JSON list of numbers of any length. A list that is wholly wrong is not reported to its
 * end.
 */
export const numberList = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined ? 'is required and must be a list of 10-digit texts' : listRule,
  })
  .min(1, 'must hold at least 1 number')
  .meta({ items: { type: 'string', pattern: '^\\d{10}$' } })
  .transform(async (items, context): Promise<readonly PhoneNumber[]> => {
    const numbers: PhoneNumber[] = []
    let bad = 0
    await forEachInSlices(items, (input, index) => {
      const given = numberAsText(input)
      const number = typeof given === 'string' ? asPhoneNumber(given) : undefined
      if (number !== undefined) numbers.push(number)
      else if (bad < mostShown) {
        bad += 1
        context.addIssue({ code: 'custom', path: [index], message: phoneRule, input })
      }
    })
    return bad === 0 ? numbers : z.NEVER
  })

const listRule = 'must be a list of 10-digit texts'
