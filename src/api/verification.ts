/**
 * Whether a number belongs to a person on the wire. An extension to the spec: clients in use call it.
 * Who a number belongs to is in no data of this server, so the code is always `U`, undetermined.
 */
import { z } from 'zod'
import { type PhoneType, phoneTypes } from '../domain/lookups.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { endpoint, versionedPaths } from './endpoint.js'
import { fields, optionalText } from './fields.js'
import { repliedNumber, tenDigits } from './lookups.js'

export interface VerificationRequest {
  readonly phone: PhoneNumber
  /** The caller's own, given back. */
  readonly reference: string
}

export interface VerificationRow {
  readonly phone: string
  readonly reference: string
  readonly phoneType: PhoneType
}

const notKept = optionalText(200)

const request: z.ZodType<VerificationRequest> = fields({
  phone: tenDigits,
  ReferenceID: optionalText(200),
  FirstName: notKept,
  LastName: notKept,
  Address1: notKept,
  Address2: notKept,
  City: notKept,
  State: notKept,
  PostalCode: notKept,
  // Some clients send the day of the request here, whatever day they were given.
  ConsentDate: notKept.describe('Read and not used: no safe harbor follows from this call'),
}).transform(({ phone, ReferenceID = '' }) => ({ phone, reference: ReferenceID }))

const wireVerification = z
  .object({
    Phone: repliedNumber,
    ReferenceID: z.string(),
    VerificationCode: z.literal('U').describe('U undetermined'),
    PhoneType: z.enum(phoneTypes).describe('As in IDPremium'),
    MatchType: z.literal(''),
    MatchLevel: z.literal(''),
  })
  .transform(
    (wire): VerificationRow => ({
      phone: wire.Phone,
      reference: wire.ReferenceID,
      phoneType: wire.PhoneType,
    }),
  )

export const verification = endpoint<VerificationRequest, VerificationRow>({
  name: 'verification',
  summary: 'Extension: whether a number belongs to a person; always undetermined here.',
  spec: 'Data enhancement lookups',
  method: 'GET',
  paths: versionedPaths('/v1.4', '/Data/Verification'),
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: ['look-up'],
  scopes: 'none',
  request,
  response: wireVerification,
  errors: 'problem',
  encode: ({ phone, reference, phoneType }) => ({
    json: {
      Phone: phone,
      ReferenceID: reference,
      VerificationCode: 'U',
      PhoneType: phoneType,
      MatchType: '',
      MatchLevel: '',
    },
  }),
})
