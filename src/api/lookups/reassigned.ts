/** The reassigned-number checks in the API (spec, "Reassigned-number check"). */
import { z } from 'zod'
import type {
  NationalReassignedRow,
  ReassignedRequest,
  ReassignedRow,
} from '../../domain/lookups.js'
import { toPhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, parseDay } from '../../domain/time/dates.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import {
  defineEndpoint,
  type Endpoint,
  maxListBodyBytes,
  singleScope,
  type WireRequest,
} from '../endpoint.js'
import { eachItem, fields, optionalFlag, optionalId } from '../fields.js'
import { wireObject } from '../wire-object.js'
import { replyPhone, trimmedPhone } from './line-lookups.js'

/** Maximum numbers of one request; our own limit, since the spec has no list endpoint. */
const maxReassignedItems = 1000

const dateRule =
  'must be a day as MM/DD/YYYY, YYYY-MM-DD, MM/DD/YY (years 2000 to 2099) or YYYYMMDD'

/**
 * Parses the four forms of the spec. Two-digit years are in this century, so that 99 gives an error
 * about a future date instead of an answer for a date that the client did not mean.
 */
function parseConsentDay(text: string): LocalDay | undefined {
  const short = /^(\d{1,2}\/\d{1,2}\/)(\d{2})$/.exec(text)
  return parseDay(short ? `${short[1]}20${short[2]}` : text)
}

const date = z
  .string({
    error: ({ input }) => (input === undefined ? `is required and ${dateRule}` : dateRule),
  })
  .transform((text, context): LocalDay => {
    const day = parseConsentDay(text.trim())
    if (day !== undefined) return day
    context.addIssue(dateRule)
    return z.NEVER
  })
  .describe('The day consent was given')

const flags = {
  useSandbox: optionalFlag.describe('Answers with test data that depends only on number and date'),
  isSandbox: optionalFlag.describe('The same as useSandbox'),
  sandbox: optionalFlag.describe('The same as useSandbox'),
}

type Flags = { readonly [Name in keyof typeof flags]: boolean }

const isSandboxRequest = ({ useSandbox, isSandbox, sandbox }: Flags) =>
  useSandbox || isSandbox || sandbox

const getRequest: z.ZodType<ReassignedRequest> = fields({
  phoneNumber: trimmedPhone,
  date,
  ...flags,
  projId: optionalId,
}).transform((wire) => ({
  items: [{ number: wire.phoneNumber, consentOn: wire.date }],
  useSandbox: isSandboxRequest(wire),
  projectId: wire.projId,
}))

const dataList = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null
        ? 'is required and must be a list of {phoneNumber, date}'
        : 'must be a list of {phoneNumber, date}',
  })
  .min(1, 'must have at least 1 item')
  .max(maxReassignedItems, `must have at most ${maxReassignedItems} items`)

const list = eachItem(dataList, fields({ phoneNumber: trimmedPhone, date }))

const postRequest: z.ZodType<ReassignedRequest> = fields({
  Data: list,
  ...flags,
  ProjId: optionalId,
}).transform((wire) => ({
  items: wire.Data.map((item) => ({ number: item.phoneNumber, consentOn: item.date })),
  useSandbox: isSandboxRequest(wire),
  projectId: wire.ProjId,
}))

function encodeReassignedRequest({ items, useSandbox, projectId }: ReassignedRequest): WireRequest {
  return {
    json: {
      Data: items.map(({ number, consentOn }) => ({
        phoneNumber: number,
        date: formatDay(consentOn),
      })),
      ...(useSandbox && { useSandbox }),
      ...(projectId !== undefined && { ProjId: projectId }),
    },
  }
}

const answer = z.boolean('must be true, false or null').nullable()
const flag = z.boolean('must be true or false')

const nationalFields = {
  phoneNumber: ['PhoneNumber', replyPhone.transform(toPhoneNumber)],
  isReassigned: ['IsReassigned', answer.describe('true do not call; null too little information')],
  hasSafeHarbor: [
    'HasSafeHarbor',
    flag.describe('A federal safe-harbor exemption may be available'),
  ],
} as const
const isSandbox = ['IsSandBox', flag.describe('Test data')] as const

/** One row of `RNDBasic`. */
export const wireNationalRow = wireObject({ ...nationalFields, isSandbox })

/** Spec, "Reassigned-number result". */
export const wireReassignedRow = wireObject({
  ...nationalFields,
  ownIsReassigned: [
    'OwnIsReassigned',
    answer.describe("Based only on the service's own carrier data; informational"),
  ],
  isSandbox,
})

const common = {
  spec: 'Reassigned-number check',
  rateClass: 'reassigned',
  errors: 'problem',
} satisfies Partial<Endpoint<unknown, unknown>>

const getCommon = {
  ...common,
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  request: getRequest,
} satisfies Partial<Endpoint<ReassignedRequest, unknown>>

/** An older form of the body is a bare list, for which the flags are in the query. */
const postCommon = {
  ...common,
  method: 'POST',
  countNumbers: ({ items }) => items.length,
  accepts: ['query', 'json'],
  maxBodyBytes: maxListBodyBytes,
  usesServiceThread: 'when-long',
  bareListField: 'Data',
  keyAlsoIn: [],
  request: postRequest,
  encodeRequest: encodeReassignedRequest,
} satisfies Partial<Endpoint<ReassignedRequest, unknown>>

const enhancedPaths = ['/v1.5/Data/EnhancedRND', '/v1.4/Data/EnhancedRND'] as const
const basicPaths = ['/v1.5/Data/RNDBasic'] as const

export const enhancedRndGet = defineEndpoint<ReassignedRequest, ReassignedRow>({
  ...getCommon,
  name: 'enhanced-rnd-get',
  summary: 'Whether a number has been reassigned since consent was given.',
  rights: ['look-up'],
  scopes: singleScope,
  paths: enhancedPaths,
  response: wireReassignedRow.schema,
  encode: (row) => ({ json: wireReassignedRow.write(row) }),
})

export const enhancedRndPost = defineEndpoint<ReassignedRequest, readonly ReassignedRow[]>({
  ...postCommon,
  name: 'enhanced-rnd-post',
  summary: 'Whether numbers of a list have been reassigned, in the order of the request.',
  rights: ['look-up'],
  scopes: singleScope,
  paths: enhancedPaths,
  response: z.array(wireReassignedRow.schema),
  encode: async (rows) => ({ json: await mapInSlices(rows, wireReassignedRow.write) }),
})

export const rndBasicGet = defineEndpoint<ReassignedRequest, NationalReassignedRow>({
  ...getCommon,
  name: 'rnd-basic-get',
  summary: 'Whether a number has been reassigned, by the national database only.',
  rights: ['look-up'],
  scopes: singleScope,
  paths: basicPaths,
  response: wireNationalRow.schema,
  encode: (row) => ({ json: wireNationalRow.write(row) }),
})

export const rndBasicPost = defineEndpoint<ReassignedRequest, readonly NationalReassignedRow[]>({
  ...postCommon,
  name: 'rnd-basic-post',
  summary: 'Whether numbers of a list have been reassigned, by the national database only.',
  rights: ['look-up'],
  scopes: singleScope,
  paths: basicPaths,
  response: z.array(wireNationalRow.schema),
  encode: async (rows) => ({ json: await mapInSlices(rows, wireNationalRow.write) }),
})
