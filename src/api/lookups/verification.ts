/**
 * Verifies whether a number belongs to a person: an extension to the spec that existing clients use.
 * This server has no such data, so the code is always `U`, undetermined.
 */
import { z } from 'zod'
import { phoneTypes } from '../../domain/lookups.js'
import { defineEndpoint, listVersionedPaths } from '../endpoint.js'
import { fields, optionalText } from '../fields.js'
import { replyPhone, trimmedPhone } from './line-lookups.js'

const unusedText = optionalText(200)

const request = fields({
  phone: trimmedPhone,
  // The caller's own reference, repeated in the answer.
  ReferenceID: optionalText(200),
  FirstName: unusedText,
  LastName: unusedText,
  Address1: unusedText,
  Address2: unusedText,
  City: unusedText,
  State: unusedText,
  PostalCode: unusedText,
  // Some clients always send the day of the request here.
  ConsentDate: unusedText.describe('Not used: this call gives no safe harbor'),
}).transform(({ phone, ReferenceID = '' }) => ({ phone, reference: ReferenceID }))

const wireVerification = z
  .object({
    Phone: replyPhone,
    ReferenceID: z.string(),
    VerificationCode: z.literal('U').describe('U undetermined'),
    PhoneType: z.enum(phoneTypes).describe('As in IDPremium'),
    MatchType: z.literal(''),
    MatchLevel: z.literal(''),
  })
  .transform((wire) => ({
    phone: wire.Phone,
    reference: wire.ReferenceID,
    phoneType: wire.PhoneType,
  }))

export const verification = defineEndpoint({
  name: 'verification',
  summary: 'Extension: whether a number belongs to a person; always undetermined here.',
  spec: 'Data enhancement lookups',
  method: 'GET',
  paths: listVersionedPaths('/v1.4', '/Data/Verification'),
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
