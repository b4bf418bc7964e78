/** Consents with what shows them, which permission records point to, and all that is known of a number. */
import { z } from 'zod'
import { type ConsentEvidence, consentEvidence, ebrTypes } from '../../domain/compliance.js'
import {
  type AddedConsent,
  type ConsentHistory,
  type ConsentScope,
  consentChannels,
  consentMethods,
  type NewConsent,
} from '../../domain/consent/consent-records.js'
import { callKinds, callPurposes, maxIdLength } from '../../domain/decision.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { parseDay } from '../../domain/time/dates.js'
import { defineEndpoint, singleScope } from '../endpoint.js'
import { fields, instant, optionalId, optionalText } from '../fields.js'
import { strictPhone } from '../reputation/monitored-number.js'

const maxWordingLength = 10_000
const maxAddressLength = 2_000

const requiredText = (maxLength: number) =>
  z
    .string('must be text')
    .trim()
    .min(1, 'must not be empty')
    .max(maxLength, `must not be longer than ${maxLength} characters`)

const address = z
  .string('must be text')
  .max(maxAddressLength, `must not be longer than ${maxAddressLength} characters`)
  .regex(/^https?:\/\/[\x21-\x7e]+$/, 'must be an address that begins with https:// or http://')
  .optional()

const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(', ')}`)

const request: z.ZodType<NewConsent & ConsentScope> = fields({
  number: strictPhone,
  givenAt: instant.describe('When the person gave it'),
  seller: requiredText(200).describe('Whom the consent permits to call'),
  channel: oneOf(consentChannels),
  method: oneOf(consentMethods).describe(
    'oral; recorded: there is a recording of it; written: by click, key, text or signature',
  ),
  wording: z
    .string('must be text')
    .max(maxWordingLength, `must not be longer than ${maxWordingLength} characters`)
    .refine((text) => text.trim() !== '', 'must not be blank')
    .refine((text) => !text.includes('\0'), 'must not have the character U+0000')
    .describe('Exactly what was shown or read to the person; its SHA-256 is stored with it'),
  page: address.describe('The page on which it was given'),
  certificate: address.describe('Certificate of a witness service'),
  personId: optionalText(maxIdLength).describe('Your name for the person'),
  purposes: z
    .array(oneOf(callPurposes), 'must be a list of purposes')
    .min(1, 'must have at least one purpose, or be absent for all')
    .optional()
    .describe('What the calls may be for; all if absent'),
  kinds: z
    .array(oneOf(callKinds), 'must be a list of kinds of call')
    .min(1, 'must have at least one kind, or be absent for all')
    .optional()
    .describe('Kinds of call that it permits; all if absent'),
  endsOn: z
    .string('must be text')
    .transform((text, context) => {
      const day = parseDay(text)
      if (day !== undefined) return day
      context.addIssue('must be a day such as 2027-01-31')
      return z.NEVER
    })
    .optional()
    .describe('The first day on which it no longer holds'),
  projectId: optionalId,
  campaignId: optionalId,
})

export const addConsentEndpoint = defineEndpoint<NewConsent & ConsentScope, AddedConsent>({
  name: 'consent',
  summary:
    'Stores a consent with what shows it, and a permission record that points to it and replaces the one in force.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/consents'],
  accepts: ['json'],
  keyAlsoIn: [],
  rights: ['consent'],
  scopes: singleScope,
  rateClass: 'ebr',
  countNumbers: () => 1,
  request,
  response: z.object({
    id: z.string(),
    wordingSha256: z.string(),
    warnings: z.array(z.string()).readonly(),
  }),
  errors: 'problem',
})

const text = z.string()
const nullableText = text.nullable()
const evidence: z.ZodType<ConsentEvidence> = z.enum(consentEvidence)
const ebrType = z.enum(ebrTypes)
const kind = z.enum(callKinds)

const history: z.ZodType<ConsentHistory> = z.object({
  number: text as unknown as z.ZodType<PhoneNumber>,
  current: z
    .object({
      type: ebrType,
      consentId: nullableText,
      evidence: evidence.nullable(),
      isEffective: z.boolean(),
      expiresOn: nullableText,
      isRevoked: z.boolean(),
    })
    .nullable(),
  consents: z.array(
    z.object({
      id: text,
      givenAt: text,
      endsOn: nullableText,
      seller: text,
      channel: z.enum(consentChannels),
      method: z.enum(consentMethods),
      evidence,
      wording: text,
      wordingSha256: text,
      page: nullableText,
      certificate: nullableText,
      personId: nullableText,
      purposes: z.array(z.enum(callPurposes)).nullable(),
      kinds: z.array(kind).nullable(),
      recordedAt: text,
      recordedBy: text,
    }),
  ),
  records: z.array(
    z.object({
      type: ebrType,
      dateOfLastContact: text,
      consentId: nullableText,
      evidence: evidence.nullable(),
      recordedAt: text,
      recordedBy: text,
      replacedAt: nullableText,
    }),
  ),
  optOut: z.object({ addedAt: text, removedAt: nullableText }).nullable(),
  statements: z.array(
    z.object({
      heardAt: text,
      source: text,
      said: nullableText,
      goods: nullableText,
      decisionId: nullableText,
    }),
  ),
})

export const readConsentsEndpoint = defineEndpoint<
  ConsentScope & { readonly number: PhoneNumber },
  ConsentHistory
>({
  name: 'consents',
  summary:
    'All that is known of the consent to call a number: the record in force, stored consents, records before, opt-outs; at most 100 of each, newest first.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/consents'],
  accepts: ['query'],
  // A hundred wordings.
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: singleScope,
  rateClass: 'ebr',
  countNumbers: () => 1,
  request: fields({ number: strictPhone, projectId: optionalId, campaignId: optionalId }),
  response: history,
  errors: 'problem',
})
