/**
 * Monitored numbers and FTC complaints in the API (spec, "Monitored-number record" and "FTC
 * complaint object"), as used by the endpoints of the reputation monitor.
 */
import { z } from 'zod'
import { type PhoneNumber, parsePhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import {
  historicalScores,
  labelStatuses,
  type NumberRecord,
  scores,
} from '../../domain/reputation.js'
import { forEachInSlices } from '../../runtime/yield-to-event-loop.js'
import { numberToText } from '../fields.js'
import { wireObject } from '../wire-object.js'

/** Texts from the spec, except the last, which is our own. */
export const monitorOutcomeTexts = {
  added: 'Phone number added to monitor',
  current: 'Phone number current score',
  removed: 'Phone number removed from monitor',
  'not-monitored': 'Phone number is not monitored',
} as const
export type MonitorOutcome = keyof typeof monitorOutcomeTexts

const phoneRule = 'must be text: exactly 10 digits'

export const strictPhone = z
  .preprocess(numberToText, z.string(phoneRule).regex(/^\d{10}$/, phoneRule))
  .transform((text): PhoneNumber => toPhoneNumber(text))
  .describe('10 digits')

const oneOfWords = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(', ')}`)

const text = z.string('must be text')
const filedAt = text.describe('`MM/DD/YYYY HH:MM:SS`, as filed, without a time zone')

/** Spec, "FTC complaint object". */
const wireComplaint = wireObject({
  id: ['FTCComplaintId', text],
  phone: ['Phone', strictPhone.describe('The number complained about')],
  createdDate: ['CreatedDate', filedAt],
  violationDate: ['ViolationDate', filedAt],
  city: ['City', text.describe("The complainant's, like the next two fields")],
  state: ['State', text],
  areaCode: ['AreaCode', text],
  subject: ['Subject', text.describe('Category of the complaint')],
  recordedMessageOrRobocall: [
    'RecordedMessageOrRobocall',
    text
      .transform((letter) => (letter === 'Y' ? 'Y' : 'N'))
      .describe('`Y` when it is a robocall complaint'),
  ],
})

const label = oneOfWords(labelStatuses).describe(
  '`Processing` until the source has answered once, and for sources that are not used for the account',
)

const monitored = z
  .object({
    Response: text.describe('Status message of the operation'),
    Phone: strictPhone,
    LegalEntityId: z.int('must be a whole number or null').nullish(),
    CurrScore: oneOfWords(scores).describe('`Processing` until every source has answered once'),
    MaxScore: oneOfWords(scores).describe('Highest level of the last 15 days'),
    HistoricalScore: oneOfWords(historicalScores).describe(
      '0 or 1: no issues; 5: at least half of the stored observations were High',
    ),
    CarrierAScore: label,
    CarrierBScore: label,
    CarrierCScore: label,
    AppAStatus: label,
    AppBStatus: label,
    FTCComplaints: z
      .array(wireComplaint.schema)
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
  .strictObject({ Response: text.describe('The account does not monitor it'), Phone: strictPhone })
  .transform(({ Phone }): NumberRecord => ({ phone: Phone }))

/** Parses one record; a number that is not monitored has no scores. */
export const wireRecord = z.union([monitored, notMonitored])

/** `outcome` applies to monitored numbers only. */
export function toWireRecord(
  { phone, scores: known }: NumberRecord,
  outcome: MonitorOutcome,
): z.input<typeof wireRecord> {
  if (known === undefined) return { Response: monitorOutcomeTexts['not-monitored'], Phone: phone }
  return {
    Response: monitorOutcomeTexts[outcome],
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
    FTCComplaints: known.complaints?.map(wireComplaint.write) ?? null,
  }
}

const maxShownProblems = 20

/**
 * A bare JSON list of numbers of any length. At most {@link maxShownProblems} problems are reported.
 */
export const numberList = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined ? 'is required and must be a list of 10-digit texts' : listRule,
  })
  .min(1, 'must have at least 1 number')
  .meta({ items: { type: 'string', pattern: '^\\d{10}$' } })
  .transform(async (items, context): Promise<readonly PhoneNumber[]> => {
    const numbers: PhoneNumber[] = []
    let bad = 0
    await forEachInSlices(items, (input, index) => {
      const text = numberToText(input)
      const number = typeof text === 'string' ? parsePhoneNumber(text) : undefined
      if (number !== undefined) numbers.push(number)
      else if (bad < maxShownProblems) {
        bad += 1
        context.addIssue({ code: 'custom', path: [index], message: phoneRule, input })
      }
    })
    return bad === 0 ? numbers : z.NEVER
  })

const listRule = 'must be a list of 10-digit texts'
