/** Look-ups of one number on the wire (spec, "Data enhancement lookups"). */
import { z } from 'zod'
import { formatDay, parseDay } from '../domain/clock.js'
import {
  type LineIdentity,
  type LineStatusAnswer,
  lineStatuses,
  phoneTypes,
  type ResOrBusiness,
} from '../domain/lookups.js'
import { asPhoneNumber, type PhoneNumber } from '../domain/phone-number.js'
import { type Endpoint, endpoint, versionedPaths } from './endpoint.js'
import { fields, numberAsText } from './fields.js'

export interface LookupRequest {
  readonly phone: PhoneNumber
}

/** What is no number is told by the status, so it comes as it was given, trimmed and not empty. */
export interface LineStatusRequest {
  readonly phone: string
}

export interface IdentityRow extends LineIdentity {
  readonly phone: string
}

export interface LineStatusRow extends LineStatusAnswer {
  readonly phone: string
}

export interface ResOrBusinessRow {
  readonly phone: string
  readonly resOrBusiness: ResOrBusiness
}

const tenDigitsRule = 'must be exactly 10 digits'

const required = (rule: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    input === undefined ? `is required and ${rule}` : rule,
})

/** The strict form of a number, blanks around it forgiven. */
export const tenDigits = z
  .preprocess(numberAsText, z.string(required(tenDigitsRule)))
  .transform((text, context) => {
    const number = asPhoneNumber(text.trim())
    if (number !== undefined) return number
    context.addIssue(tenDigitsRule)
    return z.NEVER
  })

/** A number as a reply repeats it. */
export const repliedNumber = z
  .string('must be text')
  .refine((text) => asPhoneNumber(text) !== undefined, tenDigitsRule)

const anyText = z
  .string(required('must be text'))
  .transform((text) => text.trim())
  .refine((text) => text !== '', 'must not be empty')

const longestTelcoName = 50

/** Blank, or a day as `YYYYMMDD`. */
const lookedUpOn = z
  .string('must be text')
  .regex(/^(?:\d{8})?$/, 'must be YYYYMMDD or empty')
  .refine((text) => text === '' || parseDay(text) !== undefined, 'is no day')
  .describe('Day of the last live look-up, YYYYMMDD; empty without one')

/** Reads the answer (spec, "Number identification result"). */
export const wireIdentity = z
  .object({
    Phone: repliedNumber,
    PhoneType: z
      .enum(phoneTypes, `must be one of ${phoneTypes.join(', ')}`)
      .describe('N not available, L landline, V VoIP, W wireless, O other'),
    OCN: z
      .string('must be text')
      .regex(/^(?:[A-Za-z0-9]{4})?$/, 'must be 4 letters or digits, or empty')
      .describe('Operating company number of the current carrier; empty when not known'),
    TelcoName: z
      .string('must be text')
      .max(longestTelcoName, `must not be longer than ${longestTelcoName} characters`)
      .describe('Name of the current carrier; empty when not known'),
    ODate: lookedUpOn,
  })
  .transform(
    (wire): IdentityRow => ({
      phone: wire.Phone,
      phoneType: wire.PhoneType,
      ocn: wire.OCN,
      telcoName: wire.TelcoName,
      on: parseDay(wire.ODate),
    }),
  )

/** Reads the answer (spec, "Disconnect result"). An error text may be left out by others. */
export const wireLineStatus = z
  .object({
    Phone: z.string('must be text').describe('As given, also when it is no number'),
    Status: z.enum(lineStatuses, `must be one of ${lineStatuses.join(', ')}`),
    ErrorText: z
      .string('must be text')
      .nullish()
      .describe('Filled when the status tells of no line: a number that is none, or no data'),
  })
  .transform(
    (wire): LineStatusRow => ({
      phone: wire.Phone,
      status: wire.Status,
      errorText: wire.ErrorText ?? '',
    }),
  )

/** Reads the answer (spec, "Residential-or-business result"). */
export const wireResOrBusiness = z
  .object({
    Phone: repliedNumber,
    ResOrBusiness: z
      .enum(['R', 'B', 'U'], 'must be one of R, B, U')
      .describe('R residential, B business, U could not be determined'),
  })
  .transform((wire): ResOrBusinessRow => ({ phone: wire.Phone, resOrBusiness: wire.ResOrBusiness }))

const common = {
  spec: 'Data enhancement lookups',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  errors: 'problem',
} satisfies Partial<Endpoint<unknown, unknown>>

const phoneRequest: z.ZodType<LookupRequest> = fields({ phone: tenDigits })

export const idPremium = endpoint<LookupRequest, IdentityRow>({
  ...common,
  name: 'id-premium',
  summary: 'Who carries a number now, and on what kind of line.',
  rights: ['look-up'],
  scopes: 'none',
  paths: versionedPaths('/v1.4', '/Data/IDPremium'),
  request: phoneRequest,
  send: ({ phone }) => ({ query: { phone } }),
  response: wireIdentity,
  encode: ({ phone, phoneType, ocn, telcoName, on }) => ({
    json: {
      Phone: phone,
      PhoneType: phoneType,
      OCN: ocn,
      TelcoName: telcoName.slice(0, longestTelcoName),
      ODate: on === undefined ? '' : formatDay(on).replaceAll('-', ''),
    },
  }),
})

export const realTimeDisconnect = endpoint<LineStatusRequest, LineStatusRow>({
  ...common,
  name: 'real-time-disconnect',
  summary: 'Whether a line is connected.',
  rights: ['look-up'],
  scopes: 'none',
  paths: versionedPaths('/v1.4', '/Data/RealTimeDisconnect'),
  request: fields({ phoneNumber: anyText }).transform(({ phoneNumber }) => ({
    phone: phoneNumber,
  })),
  send: ({ phone }) => ({ query: { phoneNumber: phone } }),
  response: wireLineStatus,
  encode: ({ phone, status, errorText }) => ({
    json: { Phone: phone, Status: status, ErrorText: errorText },
  }),
})

export const resOrBusiness = endpoint<LookupRequest, ResOrBusinessRow>({
  ...common,
  name: 'res-or-business',
  summary: 'Whether a number is residential or of a business.',
  rights: ['look-up'],
  scopes: 'none',
  paths: versionedPaths('/v1.4', '/Data/ResOrBusiness'),
  request: phoneRequest,
  send: ({ phone }) => ({ query: { phone } }),
  response: wireResOrBusiness,
  encode: (row) => ({ json: { Phone: row.phone, ResOrBusiness: row.resOrBusiness } }),
})
