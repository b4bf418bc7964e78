/**
 * The reputation monitor in the API (spec, "Reputation monitor API" and "Reputation endpoints"),
 * for both versions 1.4 and 1.5.
 */
import { z } from 'zod'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import type {
  NewNumber,
  NumberRecord,
  NumbersRequest,
  RecordPage,
  RemovedNumber,
} from '../../domain/reputation.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import { defineEndpoint, type Endpoint, type Reply } from '../endpoint.js'
import { eachItem, fields, optionalText, phoneList } from '../fields.js'
import {
  type MonitorOutcome,
  monitorOutcomeTexts,
  numberList,
  strictPhone,
  toWireRecord,
  wireRecord,
} from './monitored-number.js'

/** In the order of the request, each number once. */
type MonitorRecords = readonly NumberRecord[]

/** Spec, "Limits". */
const maxAddedNumbers = 50
const maxNumbersByGet = 200
const maxLabelLength = 50
const defaultMaxRecords = 15_000

const item = fields({
  Phone: strictPhone,
  Label: optionalText(maxLabelLength).describe(
    "The caller's own label; stored but not returned by any call",
  ),
  LegalEntityId: z
    .preprocess(idAsNumber, z.int('must be a whole number'))
    .nullish()
    .describe('One of the legal entities of the account'),
  ServiceType: optionalText().describe('From an older version of the API; stored without effect'),
})

/** Clients also send ids as text. */
function idAsNumber(id: unknown): unknown {
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : id
}

const itemList = z
  .array(z.unknown(), {
    error: ({ input }) => (input === undefined ? 'is required; a list of items' : 'must be a list'),
  })
  .min(1, 'must have at least 1 item')
  .max(maxAddedNumbers, `must have at most ${maxAddedNumbers} items`)

const items = eachItem(itemList, item)

const common = {
  spec: 'Reputation monitor API',
  rateClass: 'reputation',
  errors: 'problem',
} as const satisfies Partial<Endpoint<unknown, unknown>>

const getPaths = ['/v1.4/reputation/get', '/v1.5/Reputation/Get'] as const

const records = z.array(wireRecord)

const encodeWithOutcome =
  (outcome: MonitorOutcome) =>
  async (rows: MonitorRecords): Promise<Reply> => ({
    json: await mapInSlices(rows, (record) => toWireRecord(record, outcome)),
  })

export const reputationAdd = defineEndpoint<
  { readonly items: readonly NewNumber[] },
  MonitorRecords
>({
  ...common,
  name: 'reputation-add',
  summary: 'Adds numbers to spam-label monitoring; returns their records.',
  method: 'POST',
  paths: ['/v1.4/reputation/add', '/v1.5/Reputation/Add'],
  accepts: ['json'],
  bareListField: 'body',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request: fields({ body: items }).transform(({ body }) => ({
    items: body.map((entry) => ({
      phone: entry.Phone,
      label: entry.Label,
      legalEntityId: entry.LegalEntityId ?? undefined,
      serviceType: entry.ServiceType,
    })),
  })),
  response: records,
  encode: encodeWithOutcome('added'),
})

/** At most 200 numbers; longer lists need POST. */
export const reputationGet = defineEndpoint<NumbersRequest, MonitorRecords>({
  ...common,
  name: 'reputation-get',
  summary: 'Scores of a few numbers.',
  method: 'GET',
  paths: getPaths,
  accepts: ['query'],
  usesServiceThread: 'when-long',
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    phoneList: phoneList({
      max: maxNumbersByGet,
      advice: ', the maximum with GET; use POST',
    }).describe(`Up to ${maxNumbersByGet} 10-digit numbers separated by commas`),
  }).transform(({ phoneList: phones }, context): NumbersRequest => {
    const numbers = phones.map((part) => parsePhoneNumber(part))
    for (const [index, number] of numbers.entries()) {
      if (number !== undefined) continue
      const [path, input] = [['phoneList', index], phones[index]]
      context.addIssue({ code: 'custom', path, message: 'must be exactly 10 digits', input })
    }
    return { numbers: numbers.filter((number) => number !== undefined) }
  }),
  response: records,
  encode: encodeWithOutcome('current'),
})

export const reputationGetPost = defineEndpoint<NumbersRequest, MonitorRecords>({
  ...common,
  name: 'reputation-get-post',
  summary: 'Scores of a list of numbers of any length.',
  method: 'POST',
  paths: getPaths,
  accepts: ['json'],
  usesServiceThread: 'when-long',
  bareListField: 'body',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({ body: numberList }).transform(({ body }) => ({ numbers: body })),
  countNumbers: ({ numbers }) => numbers.length,
  encodeRequest: ({ numbers }) => ({ json: numbers }),
  response: records,
  encode: encodeWithOutcome('current'),
})

const wholeNumber = z
  .string('must be a whole number of at least 1')
  .nullish()
  .transform((text, context) => {
    const digits = text?.trim() ?? ''
    if (digits === '') return defaultMaxRecords
    if (/^\d{1,15}$/.test(digits) && Number(digits) > 0) return Number(digits)
    context.addIssue('must be a whole number of at least 1')
    return z.NEVER
  })

/** The service refuses, with 413, more records than one answer may contain. */
export const reputationGetAll = defineEndpoint<{ readonly maxRecords: number }, RecordPage>({
  ...common,
  spec: 'Reputation endpoints',
  name: 'reputation-get-all',
  countNumbers: ({ maxRecords }) => maxRecords,
  otherStatuses: { 413: 'More records were requested than one answer may contain' },
  summary: 'Scores of all numbers of the account; X-Total-Count is their total.',
  method: 'GET',
  paths: ['/v1.4/reputation/getAll', '/v1.5/Reputation/GetAll'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    maxRecords: wholeNumber.describe(
      `Maximum records to return, ${defaultMaxRecords} by default; too many are refused with 413`,
    ),
  }),
  response: records.transform((rows) => ({ records: rows, total: undefined })),
  encode: async ({ records: rows, total }) => ({
    ...(await encodeWithOutcome('current')(rows)),
    ...(total !== undefined && { headers: { 'X-Total-Count': String(total) } }),
  }),
})

const wireRemoved = z.object({ Phone: strictPhone, Response: z.string('must be text') }).transform(
  ({ Phone, Response }): RemovedNumber => ({
    phone: Phone,
    removed: Response === monitorOutcomeTexts.removed,
  }),
)

export const reputationRemove = defineEndpoint<NumbersRequest, readonly RemovedNumber[]>({
  ...common,
  name: 'reputation-remove',
  summary: 'Removes numbers from monitoring.',
  method: 'POST',
  paths: ['/v1.4/reputation/remove', '/v1.5/Reputation/Remove'],
  accepts: ['json'],
  usesServiceThread: 'when-long',
  bareListField: 'body',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request: fields({ body: numberList }).transform(({ body }) => ({ numbers: body })),
  countNumbers: ({ numbers }) => numbers.length,
  response: z.array(wireRemoved),
  encode: async (rows) => ({
    json: await mapInSlices(rows, ({ phone, removed }) => ({
      Phone: phone,
      Response: monitorOutcomeTexts[removed ? 'removed' : 'not-monitored'],
    })),
  }),
})
