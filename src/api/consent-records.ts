/**
 * Looking at and removing relationship and consent records on the wire: extensions, beside the
 * published `ebr` call, in its manner.
 */
import { z } from 'zod'
import type { ConsentRecord, ConsentRecordsRequest } from '../domain/consent-records.js'
import { type EbrAnswer, type EbrRequest, ebrReply } from './consent.js'
import { numbersInRecords, readRecords, recordFields } from './ebr-record.js'
import { endpoint, type NeededRight, oneScope } from './endpoint.js'
import { fields, optionalId, phoneList } from './fields.js'
import { warningReplyHeader } from './warnings.js'

export interface RecordsRemoved {
  readonly removed: number
}

const listed = phoneList({ most: 500 }).describe('Numbers of 10 digits separated by commas')

const removal = fields({
  phoneList: phoneList({ most: 10_000 }).describe('Numbers of 10 digits separated by commas'),
  projId: optionalId.describe('Whose records; the Master Project’s when absent'),
  campaignId: optionalId.describe('Implies its project'),
}).transform(
  ({ phoneList: numbers, projId, campaignId }): ConsentRecordsRequest => ({
    numbers,
    projectId: projId,
    campaignId,
  }),
)

const text = z.string().nullable()

const body: z.ZodType<ConsentRecord> = z.object({
  phoneNumber: z.string(),
  type: z.enum(['S', 'I', 'P', 'T']),
  dateOfLastContact: z.string().describe('`YYYY-MM-DD`, or an instant where a time was given'),
  dateObligationEnds: text,
  referenceNum: text,
  brand: text,
  email: text,
  recordedOn: z.string().describe('UTC instant of the report'),
  recordedBy: text.describe(
    'Id of the key that stored it, or `import:` and the source of an import',
  ),
})

const paths = ['/app/main/rpc/ebr']

/** Records to store, or numbers whose records are asked for (extension). */
export type EbrGetRequest =
  | { readonly store: EbrRequest }
  | { readonly list: ConsentRecordsRequest }

export type EbrGetAnswer = EbrAnswer | { readonly records: readonly ConsentRecord[] }

const getRequest = fields({
  phoneList: listed.optional(),
  ...recordFields,
  projId: optionalId,
  campaignId: optionalId,
}).transform(({ phoneList: numbers, projId: projectId, campaignId, ...wire }, context) => {
  const records = readRecords(wire, context)
  const keepBetterEbr = wire.keepBetterEBR
  if ((records === undefined) === (numbers === undefined)) {
    const message = 'is needed to list records, 1!ColValue.phoneNumber and so on to store some'
    context.addIssue({ code: 'custom', path: ['phoneList'], message, input: numbers })
  }
  const asked: EbrGetRequest = records
    ? { store: { keepBetterEbr, projectId, campaignId, records } }
    : { list: { numbers: numbers ?? [], projectId, campaignId } }
  return asked
})

const getResponse: z.ZodType<EbrGetAnswer> = z.union([
  z.array(body).transform((records) => ({ records })),
  z.object({ success: z.literal(true) }),
])

const getRights: readonly NeededRight<EbrGetRequest>[] = [
  { right: 'consent', when: 'records are given', applies: (asked) => 'store' in asked },
  { right: 'look-up', when: 'phoneList is given', applies: (asked) => 'list' in asked },
]

/**
 * Stores records that stand in the address, as the older clients send them. Extension: with
 * `phoneList` the records in force of some numbers, expired or not.
 */
export const ebrGet = endpoint<EbrGetRequest, EbrGetAnswer>({
  name: 'ebr-get',
  summary: 'Stores records in the address; extension: with phoneList lists those in force.',
  spec: 'Existing business relationship and consent',
  method: 'GET',
  paths,
  rate: 'ebr',
  numbers: (asked) =>
    'store' in asked ? numbersInRecords(asked.store.records) : asked.list.numbers.length,
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: getRights,
  scopes: (asked) => ['store' in asked ? asked.store : asked.list],
  request: getRequest,
  response: getResponse,
  replyTypes: ['application/json', 'text/plain'],
  replyHeaders: warningReplyHeader,
  errors: 'text',
  encode: (answer, context) =>
    'records' in answer ? { json: answer.records } : ebrReply(answer, context),
})

/** Extension: takes records out of force; they are kept as evidence. */
export const ebrRemove = endpoint<ConsentRecordsRequest, RecordsRemoved>({
  name: 'ebr-remove',
  summary: 'Extension: takes the records of some numbers out of force.',
  spec: 'Existing business relationship and consent',
  method: 'POST',
  paths: ['/app/main/rpc/ebr/remove'],
  rate: 'ebr',
  numbers: ({ numbers }) => numbers.length,
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  rights: ['consent'],
  scopes: oneScope,
  request: removal,
  response: z.object({ removed: z.int() }),
  errors: 'text',
})
