/**
 * The reputation monitor on the wire (spec, "Reputation monitor API" and "Reputation endpoints"),
 * versions 1.4 and 1.5 alike.
 */
import { z } from 'zod'
import { asPhoneNumber, type PhoneNumber } from '../domain/phone-number.js'
import { mapInSlices } from '../domain/slices.js'
import { type Endpoint, endpoint, type Reply } from './endpoint.js'
import { eachItem, fields, optionalText, phoneList } from './fields.js'
import {
  type NumberRecord,
  numberList,
  type Outcome,
  outcomes,
  recordToWire,
  tenDigits,
  wireRecord,
} from './reputation-record.js'

export interface MonitorAddRequest {
  readonly items: readonly {
    readonly phone: PhoneNumber
    readonly label: string | undefined
    readonly legalEntityId: number | undefined
    readonly serviceType: string | undefined
  }[]
}

export interface MonitorNumbersRequest {
  readonly numbers: readonly PhoneNumber[]
}

export interface MonitorAllRequest {
  readonly maxRecords: number
}

/** In the order of the request, each number once. */
export type MonitorRecords = readonly NumberRecord[]

export interface MonitorAllAnswer {
  readonly records: readonly NumberRecord[]
  /** How many numbers the account monitors; a client reads it from a header. */
  readonly total: number | undefined
}

export interface RemovedNumber {
  readonly phone: PhoneNumber
  /** False when the account did not monitor it. */
  readonly removed: boolean
}

/** Spec, "Limits". */
const mostAdded = 50
const mostByGet = 200
const longestLabel = 50
const defaultMaxRecords = 15_000

const item = fields({
  Phone: tenDigits,
  Label: optionalText(longestLabel).describe("The caller's own; kept, and shown by no call"),
  LegalEntityId: z
    .preprocess(idAsNumber, z.int('must be a whole number'))
    .nullish()
    .describe('One of the legal entities of the account'),
  ServiceType: optionalText().describe('Of an older edition: kept, without effect'),
})

/** Clients send ids as text too. */
function idAsNumber(id: unknown): unknown {
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : id
}

const itemList = z
  .array(z.unknown(), {
    error: ({ input }) => (input === undefined ? 'is required; a list of items' : 'must be a list'),
  })
  .min(1, 'must hold at least 1 item')
  .max(mostAdded, `must hold at most ${mostAdded} items`)

const items = eachItem(itemList, item)

const common = {
  spec: 'Reputation monitor API',
  rate: 'reputation',
  errors: 'problem',
} as const satisfies Partial<Endpoint<unknown, unknown>>

const getPaths = ['/v1.4/reputation/get', '/v1.5/Reputation/Get'] as const

const records = z.array(wireRecord)

const withOutcome =
  (outcome: Outcome) =>
  async (found: MonitorRecords): Promise<Reply> => ({
    json: await mapInSlices(found, (record) => recordToWire(record, outcome)),
  })

export const reputationAdd = endpoint<MonitorAddRequest, MonitorRecords>({
  ...common,
  name: 'reputation-add',
  summary: 'Has numbers watched for spam labels; gives their records.',
  method: 'POST',
  paths: ['/v1.4/reputation/add', '/v1.5/Reputation/Add'],
  accepts: ['json'],
  listBody: 'body',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request: fields({ body: items }).transform(({ body }) => ({
    items: body.map((one) => ({
      phone: one.Phone,
      label: one.Label,
      legalEntityId: one.LegalEntityId ?? undefined,
      serviceType: one.ServiceType,
    })),
  })),
  response: records,
  encode: withOutcome('added'),
})

/** At most 200 numbers; longer lists go by POST. */
export const reputationGet = endpoint<MonitorNumbersRequest, MonitorRecords>({
  ...common,
  name: 'reputation-get',
  summary: 'Scores of a few numbers.',
  method: 'GET',
  paths: getPaths,
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    phoneList: phoneList({ most: mostByGet, advice: ', the most with GET; use POST' }).describe(
      `Up to ${mostByGet} 10-digit numbers separated by commas`,
    ),
  }).transform(({ phoneList: given }, context): MonitorNumbersRequest => {
    const numbers = given.map((part) => asPhoneNumber(part))
    for (const [index, number] of numbers.entries()) {
      if (number !== undefined) continue
      const [path, input] = [['phoneList', index], given[index]]
      context.addIssue({ code: 'custom', path, message: 'must be exactly 10 digits', input })
    }
    return { numbers: numbers.filter((number) => number !== undefined) }
  }),
  response: records,
  encode: withOutcome('current'),
})

export const reputationGetPost = endpoint<MonitorNumbersRequest, MonitorRecords>({
  ...common,
  name: 'reputation-get-post',
  summary: 'Scores of a list of numbers of any length.',
  method: 'POST',
  paths: getPaths,
  accepts: ['json'],
  listBody: 'body',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({ body: numberList }).transform(({ body }) => ({ numbers: body })),
  numbers: ({ numbers }) => numbers.length,
  send: ({ numbers }) => ({ json: numbers }),
  response: records,
  encode: withOutcome('current'),
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

/** More records than one answer may carry are the subject's to refuse, with 413. */
export const reputationGetAll = endpoint<MonitorAllRequest, MonitorAllAnswer>({
  ...common,
  spec: 'Reputation endpoints',
  name: 'reputation-get-all',
  numbers: ({ maxRecords }) => maxRecords,
  outcomes: { 413: 'More records were asked for than one answer may hold' },
  summary: 'Scores of all numbers of the account; X-Total-Count says how many there are.',
  method: 'GET',
  paths: ['/v1.4/reputation/getAll', '/v1.5/Reputation/GetAll'],
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({
    maxRecords: wholeNumber.describe(
      `Most records to give, ${defaultMaxRecords} by default; too many are refused with 413`,
    ),
  }),
  response: records.transform((found) => ({ records: found, total: undefined })),
  encode: async ({ records: found, total }) => ({
    ...(await withOutcome('current')(found)),
    ...(total !== undefined && { headers: { 'X-Total-Count': String(total) } }),
  }),
})

const wireRemoved = z.object({ Phone: tenDigits, Response: z.string('must be text') }).transform(
  ({ Phone, Response }): RemovedNumber => ({
    phone: Phone,
    removed: Response === outcomes.removed,
  }),
)

export const reputationRemove = endpoint<MonitorNumbersRequest, readonly RemovedNumber[]>({
  ...common,
  name: 'reputation-remove',
  summary: 'Stops watching numbers.',
  method: 'POST',
  paths: ['/v1.4/reputation/remove', '/v1.5/Reputation/Remove'],
  accepts: ['json'],
  listBody: 'body',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request: fields({ body: numberList }).transform(({ body }) => ({ numbers: body })),
  numbers: ({ numbers }) => numbers.length,
  response: z.array(wireRemoved),
  encode: async (rows) => ({
    json: await mapInSlices(rows, ({ phone, removed }) => ({
      Phone: phone,
      Response: outcomes[removed ? 'removed' : 'not-monitored'],
    })),
  }),
})
