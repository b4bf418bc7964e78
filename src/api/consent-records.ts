/**
 * Looking at and removing relationship and consent records on the wire: extensions, beside the
 * published `ebr` call, in its manner.
 */
import { z } from 'zod'
import type { ConsentRecord, ConsentRecordsRequest } from '../domain/consent-records.js'
import { endpoint, oneScope } from './endpoint.js'
import { fields, optionalId, phoneList } from './fields.js'

export interface RecordsRemoved {
  readonly removed: number
}

const request = (most: number) =>
  fields({
    phoneList: phoneList({ most }).describe('Numbers of 10 digits separated by commas'),
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

/** Extension: the records in force of some numbers, expired or not. */
export const ebrList = endpoint<ConsentRecordsRequest, readonly ConsentRecord[]>({
  name: 'ebr-list',
  summary: 'Extension: the relationship and consent records in force of some numbers.',
  spec: 'Existing business relationship and consent',
  method: 'GET',
  paths,
  rate: 'ebr',
  numbers: ({ numbers }) => numbers.length,
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: oneScope,
  request: request(500),
  response: z.array(body),
  errors: 'text',
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
  request: request(10_000),
  response: z.object({ removed: z.int() }),
  errors: 'text',
})
