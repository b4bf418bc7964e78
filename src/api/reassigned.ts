/** The reassigned-number checks on the wire (spec, "Reassigned-number check"). */
import { z } from 'zod'
import { formatDay, type LocalDay, parseDay } from '../domain/clock.js'
import { phoneNumber } from '../domain/phone-number.js'
import type { NationalRow, ReassignedRequest, ReassignedRow } from '../domain/reassigned.js'
import { mapInSlices } from '../domain/slices.js'
import { type Endpoint, endpoint, listBodyBytes, oneScope, type WireRequest } from './endpoint.js'
import { eachItem, fields, optionalFlag, optionalId } from './fields.js'
import { repliedNumber, tenDigits } from './lookups.js'

/** Numbers of one request (spec gives no list call; its published limit). */
export const mostReassignedItems = 1000

const dateRule =
  'must be a day as MM/DD/YYYY, YYYY-MM-DD, MM/DD/YY (years 2000 to 2099) or YYYYMMDD'

/**
 * The four forms of the spec. Two digits of a year are of this century: whoever means 1999 reads of
 * a day that is to come, instead of an answer about another one.
 */
function consentDay(text: string): LocalDay | undefined {
  const short = /^(\d{1,2}\/\d{1,2}\/)(\d{2})$/.exec(text)
  return parseDay(short ? `${short[1]}20${short[2]}` : text)
}

const date = z
  .string({
    error: ({ input }) => (input === undefined ? `is required and ${dateRule}` : dateRule),
  })
  .transform((text, context): LocalDay => {
    const day = consentDay(text.trim())
    if (day !== undefined) return day
    context.addIssue(dateRule)
    return z.NEVER
  })
  .describe('The day consent was given')

const flags = {
  useSandbox: optionalFlag.describe('Answers with test data that rests on number and date alone'),
  isSandbox: optionalFlag.describe('The same as useSandbox'),
  sandbox: optionalFlag.describe('The same as useSandbox'),
}

type Flags = { readonly [Name in keyof typeof flags]: boolean }

const isAnyOf = ({ useSandbox, isSandbox, sandbox }: Flags) => useSandbox || isSandbox || sandbox

const getRequest: z.ZodType<ReassignedRequest> = fields({
  phoneNumber: tenDigits,
  date,
  ...flags,
  projId: optionalId,
}).transform((wire) => ({
  items: [{ number: wire.phoneNumber, consentOn: wire.date }],
  useSandbox: isAnyOf(wire),
  projectId: wire.projId,
}))

const dataList = z
  .array(z.unknown(), {
    error: ({ input }) =>
      input === undefined || input === null
        ? 'is required and must be a list of {phoneNumber, date}'
        : 'must be a list of {phoneNumber, date}',
  })
  .min(1, 'must hold at least 1 item')
  .max(mostReassignedItems, `must hold at most ${mostReassignedItems} items`)

const list = eachItem(dataList, fields({ phoneNumber: tenDigits, date }))

const postRequest: z.ZodType<ReassignedRequest> = fields({
  Data: list,
  ...flags,
  ProjId: optionalId,
}).transform((wire) => ({
  items: wire.Data.map((item) => ({ number: item.phoneNumber, consentOn: item.date })),
  useSandbox: isAnyOf(wire),
  projectId: wire.ProjId,
}))

function send({ items, useSandbox, projectId }: ReassignedRequest): WireRequest {
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
  PhoneNumber: repliedNumber,
  IsReassigned: answer.describe('true do not call; null too little information'),
  HasSafeHarbor: flag.describe('A federal safe-harbor exemption may be available'),
  IsSandBox: flag.describe('Test data'),
}

/** Reads one row of `RNDBasic`. */
export const wireNationalRow = z.object(nationalFields).transform(
  (wire): NationalRow => ({
    phoneNumber: phoneNumber(wire.PhoneNumber),
    isReassigned: wire.IsReassigned,
    hasSafeHarbor: wire.HasSafeHarbor,
    isSandbox: wire.IsSandBox,
  }),
)

/** Reads one row (spec, "Reassigned-number result"). */
export const wireReassignedRow = z
  .object({
    ...nationalFields,
    OwnIsReassigned: answer.describe("By the service's own carrier data alone; informational"),
  })
  .transform(
    (wire): ReassignedRow => ({
      phoneNumber: phoneNumber(wire.PhoneNumber),
      isReassigned: wire.IsReassigned,
      hasSafeHarbor: wire.HasSafeHarbor,
      ownIsReassigned: wire.OwnIsReassigned,
      isSandbox: wire.IsSandBox,
    }),
  )

function wireNational(row: NationalRow): z.input<typeof wireNationalRow> {
  return {
    PhoneNumber: row.phoneNumber,
    IsReassigned: row.isReassigned,
    HasSafeHarbor: row.hasSafeHarbor,
    IsSandBox: row.isSandbox,
  }
}

function wireReassigned(row: ReassignedRow): z.input<typeof wireReassignedRow> {
  return {
    PhoneNumber: row.phoneNumber,
    IsReassigned: row.isReassigned,
    HasSafeHarbor: row.hasSafeHarbor,
    OwnIsReassigned: row.ownIsReassigned,
    IsSandBox: row.isSandbox,
  }
}

const common = {
  spec: 'Reassigned-number check',
  rate: 'reassigned',
  errors: 'problem',
} satisfies Partial<Endpoint<unknown, unknown>>

const byGet = {
  ...common,
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  request: getRequest,
} satisfies Partial<Endpoint<ReassignedRequest, unknown>>

/** An older form of the body is the bare list, whose flags can only stand in the address. */
const byPost = {
  ...common,
  method: 'POST',
  numbers: ({ items }) => items.length,
  accepts: ['query', 'json'],
  maxBodyBytes: listBodyBytes,
  listBody: 'Data',
  keyAlsoIn: [],
  request: postRequest,
  send,
} satisfies Partial<Endpoint<ReassignedRequest, unknown>>

const enhancedPaths = ['/v1.5/Data/EnhancedRND', '/v1.4/Data/EnhancedRND'] as const
const basicPaths = ['/v1.5/Data/RNDBasic'] as const

export const enhancedRndGet = endpoint<ReassignedRequest, ReassignedRow>({
  ...byGet,
  name: 'enhanced-rnd-get',
  summary: 'Whether a number has changed hands since consent was given.',
  rights: ['look-up'],
  scopes: oneScope,
  paths: enhancedPaths,
  response: wireReassignedRow,
  encode: (row) => ({ json: wireReassigned(row) }),
})

export const enhancedRndPost = endpoint<ReassignedRequest, readonly ReassignedRow[]>({
  ...byPost,
  name: 'enhanced-rnd-post',
  summary: 'The same for a list of numbers, answered in their order.',
  rights: ['look-up'],
  scopes: oneScope,
  paths: enhancedPaths,
  response: z.array(wireReassignedRow),
  encode: async (rows) => ({ json: await mapInSlices(rows, wireReassigned) }),
})

export const rndBasicGet = endpoint<ReassignedRequest, NationalRow>({
  ...byGet,
  name: 'rnd-basic-get',
  summary: 'The same by the national database alone.',
  rights: ['look-up'],
  scopes: oneScope,
  paths: basicPaths,
  response: wireNationalRow,
  encode: (row) => ({ json: wireNational(row) }),
})

export const rndBasicPost = endpoint<ReassignedRequest, readonly NationalRow[]>({
  ...byPost,
  name: 'rnd-basic-post',
  summary: 'By the national database alone, for a list of numbers.',
  rights: ['look-up'],
  scopes: oneScope,
  paths: basicPaths,
  response: z.array(wireNationalRow),
  encode: async (rows) => ({ json: await mapInSlices(rows, wireNational) }),
})
