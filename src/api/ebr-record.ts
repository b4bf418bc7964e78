/**
 * The records of an `ebr` request on the wire (spec, "EBR record"), as a list or in columns. What a
 * record must hold is the subject's to say.
 */
import { z } from 'zod'
import { specRecord } from './column-records.js'
import { eachItem, fields, numberAsText, optionalFlag } from './fields.js'

/** One record as it came, its names in the spec's spelling; values of any type. */
export type EbrWireRecord = z.output<typeof record>

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
const recordsOf = (item: z.ZodType<EbrWireRecord>) =>
  eachItem(recordList, item).refine(
    (records) => numbersInRecords(records) <= mostNumbers,
    `must hold at most ${mostNumbers} numbers in all its records`,
  )

/** The fields of a request that hold records, all of them optional. */
export const recordFields = {
  ebrList: recordsOf(record).nullish().describe('The records to store; JSON only'),
  ColValue: recordsOf(record.transform(specRecord))
    .optional()
    .describe(
      'In an address or urlencoded form records are fields of their own: `1!ColValue.phoneNumber`, ' +
        '`1!ColValue.type`, then `2!ColValue.phoneNumber` and so on',
    ),
  keepBetterEBR: optionalFlag.describe('Of two records keep the one that expires later'),
}

/** `undefined` where there are none. */
export function readRecords(
  { ebrList, ColValue }: WireRecords,
  context: z.RefinementCtx,
): readonly EbrWireRecord[] | undefined {
  if (ebrList && ColValue) {
    context.addIssue({ code: 'custom', path: ['ColValue'], message: 'is given beside ebrList' })
  }
  return ebrList ?? ColValue
}

interface WireRecords {
  readonly ebrList?: readonly EbrWireRecord[] | null | undefined
  readonly ColValue?: readonly EbrWireRecord[] | undefined
}

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
