/**
 * Relationship and permission records in the API: `ebr` (spec, "Existing business relationship and
 * consent"), and extensions to list and remove records in the same style. The content of a record
 * is validated by the consent service.
 */

import { z } from 'zod'
import type {
  EbrRecordsRequest,
  EndedEbrRecords,
  ListedEbrRecord,
} from '../../domain/consent/consent-records.js'
import type { Reply, ReplyContext } from '../endpoint.js'
import { defineEndpoint, type RequiredRight, singleScope } from '../endpoint.js'
import { fields, optionalId, optionalText, phoneList } from '../fields.js'
import { createWarningHeaders, warningReplyHeader } from '../warnings.js'
import type { EbrWireRecord } from './ebr-record.js'
import { countRecordNumbers, pickRecords, recordFields } from './ebr-record.js'

export interface RemovedRecordCount {
  readonly removed: number
}

const listedPhones = phoneList({ max: 500 }).describe('Numbers of 10 digits separated by commas')

const removal = fields({
  phoneList: phoneList({ max: 10_000 }).describe('Numbers of 10 digits separated by commas'),
  projId: optionalId.describe('Project of the records; the Master Project when absent'),
  campaignId: optionalId.describe('Implies its project'),
  reason: optionalText(200).describe('Why they are ended; kept in the audit table'),
}).transform(
  ({ phoneList: numbers, projId, campaignId, reason }): EndedEbrRecords => ({
    numbers,
    projectId: projId,
    campaignId,
    reason,
  }),
)

const text = z.string().nullable()

const body: z.ZodType<ListedEbrRecord> = z.object({
  phoneNumber: z.string(),
  type: z.enum(['S', 'I', 'P', 'T']),
  dateOfLastContact: z.string().describe('`YYYY-MM-DD`, or an instant where a time was given'),
  dateObligationEnds: text,
  referenceNum: text,
  brand: text,
  email: text,
  recordedOn: z.string().describe('UTC instant of the report'),
  recordedBy: z
    .string()
    .describe('Id of the key that stored it, or `import:` and the source of an import'),
})

const paths = ['/app/main/rpc/ebr']

/** Records to store, or numbers whose records are requested (extension). */
export type EbrGetRequest = { readonly store: EbrRequest } | { readonly list: EbrRecordsRequest }

export type EbrGetResponse = EbrResponse | { readonly records: readonly ListedEbrRecord[] }

const getRequest = fields({
  phoneList: listedPhones.optional(),
  ...recordFields,
  projId: optionalId,
  campaignId: optionalId,
}).transform(({ phoneList: numbers, projId: projectId, campaignId, ...wire }, context) => {
  const records = pickRecords(wire, context)
  const keepBetterEbr = wire.keepBetterEBR
  if ((records === undefined) === (numbers === undefined)) {
    const message =
      'is required to list records; to store records, send 1!ColValue.phoneNumber and so on'
    context.addIssue({ code: 'custom', path: ['phoneList'], message, input: numbers })
  }
  const request: EbrGetRequest = records
    ? { store: { keepBetterEbr, projectId, campaignId, records } }
    : { list: { numbers: numbers ?? [], projectId, campaignId } }
  return request
})

const getResponse: z.ZodType<EbrGetResponse> = z.union([
  z.array(body).transform((records) => ({ records })),
  z.object({ success: z.literal(true) }),
])

const getRights: readonly RequiredRight<EbrGetRequest>[] = [
  { right: 'consent', condition: 'records are given', appliesTo: (request) => 'store' in request },
  { right: 'look-up', condition: 'phoneList is given', appliesTo: (request) => 'list' in request },
]

/**
 * Stores records that are given in the query, as older clients send them. Extension: with
 * `phoneList`, lists the current records of some numbers, expired or not.
 */
export const ebrGet = defineEndpoint<EbrGetRequest, EbrGetResponse>({
  name: 'ebr-get',
  summary:
    'Stores records given in the query; extension: with phoneList lists the current records.',
  spec: 'Existing business relationship and consent',
  method: 'GET',
  paths,
  rateClass: 'ebr',
  countNumbers: (request) =>
    'store' in request ? countRecordNumbers(request.store.records) : request.list.numbers.length,
  accepts: ['query'],
  usesServiceThread: 'when-long',
  keyAlsoIn: ['query'],
  rights: getRights,
  scopes: (request) => ['store' in request ? request.store : request.list],
  request: getRequest,
  response: getResponse,
  replyTypes: ['application/json', 'text/plain'],
  replyHeaders: warningReplyHeader,
  errors: 'text',
  encode: (answer, context) =>
    'records' in answer ? { json: answer.records } : createEbrReply(answer, context),
})

/** Extension: ends records; they are kept as evidence. */
export const ebrRemove = defineEndpoint<EndedEbrRecords, RemovedRecordCount>({
  name: 'ebr-remove',
  summary: 'Extension: ends the records of some numbers.',
  spec: 'Existing business relationship and consent',
  method: 'POST',
  paths: ['/app/main/rpc/ebr/remove'],
  rateClass: 'ebr',
  countNumbers: ({ numbers }) => numbers.length,
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  usesServiceThread: 'when-long',
  rights: ['consent'],
  scopes: singleScope,
  request: removal,
  response: z.object({ removed: z.int() }),
  errors: 'text',
})

export interface EbrRequest {
  /** Keep an existing record that expires later than the new one. */
  readonly keepBetterEbr: boolean
  /** Extension to the spec: the project of the records; absent means the Master Project. */
  readonly projectId: string | undefined
  /** Implies its project. */
  readonly campaignId: string | undefined
  readonly records: readonly EbrWireRecord[]
}

/** Sent after all records are on disk. */
export interface EbrResponse {
  readonly success: true
  /** Warnings about records that have no effect, sent in a header since the body has a published form. */
  readonly warnings?: readonly string[] | undefined
}

const request = fields({
  ...recordFields,
  projId: optionalId,
  campaignId: optionalId,
}).transform((wire, context): EbrRequest => {
  const records = pickRecords(wire, context)
  if (!records) {
    const message = 'is required and must not be null'
    context.addIssue({ code: 'custom', path: ['ebrList'], message, input: wire.ebrList })
  }
  return {
    keepBetterEbr: wire.keepBetterEBR,
    projectId: wire.projId,
    campaignId: wire.campaignId,
    records: records ?? [],
  }
})

/** JSON as in the spec; an empty body for forms and queries, whose older clients read only the status. */
function createEbrReply(
  { success, warnings = [] }: EbrResponse,
  { jsonRequested }: Pick<ReplyContext<unknown>, 'jsonRequested'>,
): Reply {
  const headers = createWarningHeaders(warnings)
  return jsonRequested ? { json: { success }, headers } : { text: '', headers }
}

/** Takes records as a JSON list, or as columns in a form or the query. */
export const ebrPost = defineEndpoint<EbrRequest, EbrResponse>({
  name: 'ebr',
  summary: 'Stores business relationships and consents.',
  spec: 'Existing business relationship and consent',
  method: 'POST',
  paths: ['/app/main/rpc/ebr'],
  accepts: ['query', 'json', 'form', 'multipart'],
  keyAlsoIn: ['query', 'json', 'form', 'multipart'],
  usesServiceThread: 'when-long',
  rights: ['consent'],
  scopes: singleScope,
  rateClass: 'ebr',
  countNumbers: ({ records }) => countRecordNumbers(records),
  request,
  response: z.object({ success: z.literal(true) }),
  errors: 'text',
  replyHeaders: warningReplyHeader,
  replyTypes: ['application/json', 'text/plain'],
  encode: (answer, context) => createEbrReply(answer, context),
})
