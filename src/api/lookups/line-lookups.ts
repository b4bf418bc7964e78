/** Lookups of one number in the API (spec, "Data enhancement lookups"). */
import { z } from 'zod'
import { lineStatuses, phoneTypes } from '../../domain/lookups.js'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import { formatDay, parseDay } from '../../domain/time/dates.js'
import { defineEndpoint, type Endpoint, listVersionedPaths } from '../endpoint.js'
import { fields, numberToText } from '../fields.js'
import { wireObject } from '../wire-object.js'

const tenDigitsRule = 'must be exactly 10 digits'

const required = (rule: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    input === undefined ? `is required and ${rule}` : rule,
})

/** A number of exactly 10 digits; surrounding spaces are ignored. */
export const trimmedPhone = z
  .preprocess(numberToText, z.string(required(tenDigitsRule)))
  .transform((text, context) => {
    const number = parsePhoneNumber(text.trim())
    if (number !== undefined) return number
    context.addIssue(tenDigitsRule)
    return z.NEVER
  })

/** A number as repeated in a reply. */
export const replyPhone = z
  .string('must be text')
  .refine((text) => parsePhoneNumber(text) !== undefined, tenDigitsRule)

/** Accepts any text, since an invalid number is reported in the status. */
const anyText = z
  .string(required('must be text'))
  .transform((text) => text.trim())
  .refine((text) => text !== '', 'must not be empty')

const maxTelcoNameLength = 50

/** Blank, or a day as `YYYYMMDD`. */
const lookedUpOn = z
  .string('must be text')
  .regex(/^(?:\d{8})?$/, 'must be YYYYMMDD or empty')
  .refine((text) => text === '' || parseDay(text) !== undefined, 'is not a date')
  .transform((text) => parseDay(text))
  .describe('Day of the last live lookup, YYYYMMDD; empty without one')

/** Spec, "Number identification result". */
export const wireIdentity = wireObject({
  phone: ['Phone', replyPhone],
  phoneType: [
    'PhoneType',
    z
      .enum(phoneTypes, `must be one of ${phoneTypes.join(', ')}`)
      .describe('N not available, L landline, V VoIP, W wireless, O other'),
  ],
  ocn: [
    'OCN',
    z
      .string('must be text')
      .regex(/^(?:[A-Za-z0-9]{4})?$/, 'must be 4 letters or digits, or empty')
      .describe('Operating company number of the current carrier; empty when not known'),
  ],
  telcoName: [
    'TelcoName',
    z
      .string('must be text')
      .max(maxTelcoNameLength, `must not be longer than ${maxTelcoNameLength} characters`)
      .describe('Name of the current carrier; empty when not known'),
    (name: string) => name.slice(0, maxTelcoNameLength),
  ],
  on: ['ODate', lookedUpOn, (day) => (day === undefined ? '' : formatDay(day).replaceAll('-', ''))],
})

/** Spec, "Disconnect result". Other services may omit the error text. */
export const wireLineStatus = wireObject({
  phone: ['Phone', z.string('must be text').describe('As sent, even if it is not a number')],
  status: ['Status', z.enum(lineStatuses, `must be one of ${lineStatuses.join(', ')}`)],
  errorText: [
    'ErrorText',
    z
      .string('must be text')
      .nullish()
      .transform((text) => text ?? '')
      .describe('Filled when the status is an error: an invalid number, or no data'),
  ],
})

/** Spec, "Residential-or-business result". */
export const wireResOrBusiness = wireObject({
  phone: ['Phone', replyPhone],
  resOrBusiness: [
    'ResOrBusiness',
    z
      .enum(['R', 'B', 'U'], 'must be one of R, B, U')
      .describe('R residential, B business, U could not be determined'),
  ],
})

const common = {
  spec: 'Data enhancement lookups',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
  errors: 'problem',
} satisfies Partial<Endpoint<unknown, unknown>>

const phoneRequest = fields({ phone: trimmedPhone })

export const idPremium = defineEndpoint({
  ...common,
  name: 'id-premium',
  summary: 'Current carrier and line type of a number.',
  rights: ['look-up'],
  scopes: 'none',
  paths: listVersionedPaths('/v1.4', '/Data/IDPremium'),
  request: phoneRequest,
  encodeRequest: ({ phone }) => ({ query: { phone } }),
  response: wireIdentity.schema,
  encode: (row) => ({ json: wireIdentity.write(row) }),
})

export const realTimeDisconnect = defineEndpoint({
  ...common,
  name: 'real-time-disconnect',
  summary: 'Whether a line is connected.',
  rights: ['look-up'],
  scopes: 'none',
  paths: listVersionedPaths('/v1.4', '/Data/RealTimeDisconnect'),
  request: fields({ phoneNumber: anyText }).transform(({ phoneNumber }) => ({
    phone: phoneNumber,
  })),
  encodeRequest: ({ phone }) => ({ query: { phoneNumber: phone } }),
  response: wireLineStatus.schema,
  encode: (row) => ({ json: wireLineStatus.write(row) }),
})

export const resOrBusiness = defineEndpoint({
  ...common,
  name: 'res-or-business',
  summary: 'Whether a number is residential or business.',
  rights: ['look-up'],
  scopes: 'none',
  paths: listVersionedPaths('/v1.4', '/Data/ResOrBusiness'),
  request: phoneRequest,
  encodeRequest: ({ phone }) => ({ query: { phone } }),
  response: wireResOrBusiness.schema,
  encode: (row) => ({ json: wireResOrBusiness.write(row) }),
})
