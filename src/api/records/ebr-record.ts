/**
 * The records of an `ebr` request (spec, "EBR record"), as a list or in columns. The content of a
 * record is validated by the consent service.
 *
 * In a query or a form, records are columns with one field for each value:
 *
 *     1!ColValue.phoneNumber=2125550101&1!ColValue.dateOfLastContact=11/1/2026&1!ColValue.type=S
 *
 * This is the older form of `ebrList`; its values are converted to those of the spec's EBR record.
 */
import { z } from 'zod'

import { eachItem, fields, numberToText, optionalFlag } from '../fields.js'

/** One record as received, with names in the spec's spelling and values of any type. */
export type EbrWireRecord = z.output<typeof record>

/** The spec states no limit; this is the limit of its other batch endpoints, counted in numbers. */
const maxNumbers = 10_000

const anyValue = z.unknown().optional()

const record = fields({
  phoneNumber: z
    .preprocess(numberToText, anyValue)
    .describe('10 digits; several numbers may be separated by commas'),
  type: anyValue.describe('`S` sale, `I` inquiry, `P` permission, `T` trial'),
  dateOfLastContact: anyValue.describe('`MM/DD/YYYY` or ISO 8601, with or without a time'),
  dateObligationEnds: anyValue.describe('`MM/DD/YYYY` or ISO 8601'),
  referenceNum: anyValue.describe('Your own tracking text'),
  brand: anyValue.describe('Company, product or brand of the relationship'),
  email: anyValue.describe('At most 100 characters'),
})

const recordList = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null ? 'is required and must not be null' : 'must be a list',
  })
  .min(1, 'must have at least 1 record')
  .max(maxNumbers, `must have at most ${maxNumbers} records`)

/** The records of one request: at least one record, and at most `maxNumbers` numbers in total. */
const recordListOf = (item: z.ZodType<EbrWireRecord>) =>
  eachItem(recordList, item).refine(
    (records) => countRecordNumbers(records) <= maxNumbers,
    `must have at most ${maxNumbers} numbers in all records together`,
  )

/** The request fields for records, all optional. */
export const recordFields = {
  ebrList: recordListOf(record).nullish().describe('The records to store; JSON only'),
  ColValue: recordListOf(record.transform(normalizeColumnRecord))
    .optional()
    .describe(
      'In a query or urlencoded form each value is a separate field: `1!ColValue.phoneNumber`, ' +
        '`1!ColValue.type`, then `2!ColValue.phoneNumber` and so on',
    ),
  keepBetterEBR: optionalFlag.describe(
    'Keep an existing record that expires later than the new one',
  ),
}

/** The records of either form; `undefined` when there are none. */
export function pickRecords(
  { ebrList, ColValue }: WireRecords,
  context: z.RefinementCtx,
): readonly EbrWireRecord[] | undefined {
  if (ebrList && ColValue) {
    context.addIssue({
      code: 'custom',
      path: ['ColValue'],
      message: 'must not be combined with ebrList',
    })
  }
  return ebrList ?? ColValue
}

interface WireRecords {
  readonly ebrList?: readonly EbrWireRecord[] | null | undefined
  readonly ColValue?: readonly EbrWireRecord[] | undefined
}

/** One record may name several numbers, separated by commas (spec, "EBR record"). */
export function countRecordNumbers(records: readonly EbrWireRecord[]): number {
  return records.reduce(
    (sum, { phoneNumber }) => sum + (typeof phoneNumber === 'string' ? countParts(phoneNumber) : 1),
    0,
  )
}

/** Counts without creating an array, since thousands of records are counted synchronously. */
function countParts(text: string): number {
  let parts = 1
  for (let at = text.indexOf(','); at !== -1; at = text.indexOf(',', at + 1)) parts += 1
  return parts
}

/** The field that collects all `<n>!ColValue.` fields of a request. */
export const columnField = 'ColValue'

/** `N` is the newspaper trial; the spec calls it `T`. */
const newspaperTrial = 'N'

/** Converts one record to the spec's form; empty values and dates in the year 1 are treated as absent. */
function normalizeColumnRecord(columns: EbrWireRecord): EbrWireRecord {
  const filled = Object.entries(columns).filter(([, value]) => value !== '')
  const { type, dateOfLastContact, dateObligationEnds, ...record } = Object.fromEntries(filled)
  return {
    ...record,
    type: normalizeType(type),
    dateOfLastContact: normalizeDay(dateOfLastContact),
    dateObligationEnds: normalizeDay(dateObligationEnds),
  }
}

function normalizeType(type: unknown): unknown {
  if (typeof type !== 'string') return type
  const letter = type.trim().toUpperCase()
  return letter === newspaperTrial ? 'T' : letter
}

const slashedDatePattern =
  /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4})(?:\s+\d{1,2}:\d{2}:\d{2}(?:\s*[AP]M)?)?$/i

/** Converts `M/D/YY` and `M/D/YYYY h:mm:ss AM` to `M/D/YYYY`; other values are unchanged. */
function normalizeDay(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const [, month, day, year = ''] = slashedDatePattern.exec(value.trim()) ?? []
  if (year === '0001' || value.trim().startsWith('0001-')) return undefined
  // A two-digit year such as 99 is ambiguous, so it is left for the service to reject.
  if (month === undefined || (year.length === 2 && Number(year) >= 70)) return value
  return `${month}/${day}/${year.length === 2 ? `20${year}` : year}`
}
