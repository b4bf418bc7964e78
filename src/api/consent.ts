/**
 * Relationship and consent records on the wire: `ebr` (spec, "Existing business relationship and
 * consent"). What a record must hold is the subject's to say.
 */
import { z } from 'zod'
import { endpoint, oneScope } from './endpoint.js'
import { eachItem, fields, numberAsText, optionalFlag, optionalId } from './fields.js'
import { warningHeaders, warningReplyHeader } from './warnings.js'

/** One record as it came, its names in the spec's spelling; values of any type. */
export type EbrWireRecord = z.output<typeof record>

export interface EbrRequest {
  /** Keep a record that expires later than the new one. */
  readonly keepBetterEbr: boolean
  /** Extension to the spec: whose records they become; absent means the Master Project's. */
  readonly projectId: string | undefined
  /** Implies its project. */
  readonly campaignId: string | undefined
  readonly records: readonly EbrWireRecord[]
}

/** All records are on disk. */
export interface EbrAnswer {
  readonly success: true
  /** Of records that cannot act; they travel in a header, since the body has a published form. */
  readonly warnings?: readonly string[] | undefined
}

/** The spec states no limit; this is the one of its other batch calls, counted in numbers. */
const mostNumbers = 10_000

const anything = z.unknown().optional()

const record = fields({
  phoneNumber: z
    .preprocess(numberAsText, anything)
    .describe('10 digits; several numbers may be separated by commas'),
  type: anything.describe('`S` sale, `I` inquiry, `P` permission, `T` trial'),
  dateOfLastContact: anything.describe('`MM/DD/YYYY` or ISO 8601, with or without a time'),
  dateObligationEnds: anything.describe('`MM/DD/YYYY` or ISO 8601'),
  referenceNum: anything.describe('Your own tracking text'),
  brand: anything.describe('Company, product or brand of the relationship'),
  email: anything.describe('At most 100 characters'),
})

const recordList = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null ? 'is required and must not be null' : 'must be a list',
  })
  .min(1, 'must hold at least 1 record')
  .max(mostNumbers, `must hold at most ${mostNumbers} records`)

/** The records of one request: at least one, and as many numbers in all as a batch may hold. */
export const ebrRecords = eachItem(recordList, record).refine(
  (records) => numbersInRecords(records) <= mostNumbers,
  `must hold at most ${mostNumbers} numbers in all its records`,
)

/** One record may name several numbers, separated by commas (spec, "EBR record"). */
export function numbersInRecords(records: readonly EbrWireRecord[]): number {
  return records.reduce(
    (sum, { phoneNumber }) => sum + (typeof phoneNumber === 'string' ? partsOf(phoneNumber) : 1),
    0,
  )
}

/** Makes no list of the parts: thousands of records are counted at a stretch. */
function partsOf(text: string): number {
  let parts = 1
  for (let at = text.indexOf(','); at !== -1; at = text.indexOf(',', at + 1)) parts += 1
  return parts
}

const request = fields({
  keepBetterEBR: optionalFlag,
  ebrList: ebrRecords,
  projId: optionalId,
  campaignId: optionalId,
}).transform(
  (wire): EbrRequest => ({
    keepBetterEbr: wire.keepBetterEBR,
    projectId: wire.projId,
    campaignId: wire.campaignId,
    records: wire.ebrList,
  }),
)

/** Takes JSON only; the key may also stand in the address. */
export const ebrPost = endpoint<EbrRequest, EbrAnswer>({
  name: 'ebr',
  summary: 'Stores business relationships and consents.',
  spec: 'Existing business relationship and consent',
  method: 'POST',
  paths: ['/app/main/rpc/ebr'],
  accepts: ['json'],
  keyAlsoIn: ['query', 'json'],
  rights: ['consent'],
  scopes: oneScope,
  rate: 'ebr',
  numbers: ({ records }) => numbersInRecords(records),
  request,
  response: z.object({ success: z.literal(true) }),
  errors: 'text',
  replyHeaders: warningReplyHeader,
  encode: ({ success, warnings = [] }) => ({
    json: { success },
    headers: warningHeaders(warnings),
  }),
})
