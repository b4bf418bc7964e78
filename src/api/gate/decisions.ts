/**
 * The gate's own endpoints: decide on one call, the same with a one-line answer for dialplans, and
 * read a decision. `http/decision-routes.ts` handles the first two; the last is an ordinary route.
 */

import { z } from 'zod'
import {
  callKinds,
  callPurposes,
  maxCallerIdLength,
  maxDialedLength,
  maxIdLength,
  maxReferenceLength,
} from '../../domain/decision.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { postalCodePattern, postalCodeRule, repairZip } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, isWithinYears, parseInstant } from '../../domain/time/dates.js'
import { describeSaid } from '../../domain/words/words.js'
import { invalidRequest } from '../../errors.js'
import { defineEndpoint, maxSmallBodyBytes, type TextReply } from '../endpoint.js'
import { fields, optionalId, optionalText } from '../fields.js'
import { callKindMeta, decisionAnswerSchema, decisionRecordSchema } from './decision-body.js'

const kindRule = `is required and must be one of ${callKinds.join(', ')}`

const callKind = z
  .string(kindRule)
  .trim()
  .toLowerCase()
  .pipe(z.enum(callKinds, kindRule))
  .meta(callKindMeta)

const purposeRule = `must be one of ${callPurposes.join(', ')}`
const purpose = z
  .string(purposeRule)
  .trim()
  .toLowerCase()
  .pipe(z.enum(['', ...callPurposes], purposeRule))
  .nullable()
  .transform((word) => word || undefined)
  .optional()
  .describe('What the call is for, if gate.purposes lets a request say it; telemarketing otherwise')

const dialed = z
  .string('is required and must be text')
  .trim()
  .min(1, 'is required and must not be empty')
  .max(maxDialedLength, `must not be longer than ${maxDialedLength} characters`)

const postalCode = z
  .string('must be text')
  .trim()
  .transform(repairZip)
  .pipe(z.string().regex(postalCodePattern, postalCodeRule))
  .nullable()
  .transform((text) => text || undefined)
  .optional()

const at = z
  .string('must be text')
  .nullable()
  .transform((text, context) => {
    if (text === null || text === '') return undefined
    const instant = parseInstant(text)
    if (instant !== undefined) return instant
    context.addIssue('must be an instant such as 2026-11-23T17:00:00Z')
    return z.NEVER
  })
  .optional()
  .meta({ format: 'date-time' })

/** The number of a call, and what is known of the called person's place. */
export const numberFields = { number: dialed, postalCode }

/** The fields of a decision other than the number. */
export const callFields = {
  callKind,
  purpose,
  projectId: optionalId,
  campaignId: optionalId,
  postalCode,
  callerId: optionalText(maxCallerIdLength),
  subject: optionalText(maxIdLength).describe(
    'What the call is about, one of gate.subjects: some laws count only calls on the same subject',
  ),
  personId: optionalText(maxIdLength).describe(
    'Your name for the person called: the calls to all numbers of a person count together',
  ),
  reference: optionalText(maxReferenceLength),
  at,
}

/** The approval that a call is to use. */
export const approvalId = optionalText(maxIdLength).describe('An approval of this call; used once')

const decisionRequest = fields({ number: dialed, ...callFields, approvalId })

export const permitFormats = ['passport', 'jwt'] as const
export type PermitFormat = (typeof permitFormats)[number]

/** What a permit is asked for with, in addition to the decision. */
export interface PermitChoice {
  readonly callerId: PhoneNumber
  /** Name of the SIP edge; absent if there is only one. */
  readonly edge?: string | undefined
  readonly format: PermitFormat
}

export type DecisionRequest = z.output<typeof decisionRequest> & {
  /** The reply line contains the number as sent instead of the normalized one. */
  readonly keepSentNumber?: boolean
  /** Present if an allow is to have a permit. */
  readonly permit?: PermitChoice
}

/** A field as programs write it: an ASCII text without escapes, then a comma or the end. */
const plainField = /[ \t\r\n]*"([a-zA-Z]+)"[ \t\r\n]*:[ \t\r\n]*"([ !#-[\]-~]+)"[ \t\r\n]*([,}])/y

const plainId = /^[\w.:-]{1,64}$/
/** Not blank at the ends, which the schema removes. */
const plainText = (maxLength: number) => new RegExp(`^(?! ).{1,${maxLength}}(?<! )$`)

/** What the schemas take as it is, by the field's name in the JSON call. */
const plainValues = {
  number: /^(?:\+?1)?\d{10}$/,
  callKind: new RegExp(`^(?:${callKinds.join('|')})$`),
  purpose: new RegExp(`^(?:${callPurposes.join('|')})$`),
  projectId: plainId,
  campaignId: plainId,
  postalCode: postalCodePattern,
  callerId: plainText(maxCallerIdLength),
  subject: plainId,
  personId: plainId,
  reference: plainText(maxReferenceLength),
} as const
type PlainField = keyof typeof plainValues
/** A {@link DecisionRequest} that is being read. */
type PlainFields = Record<PlainField, string | undefined> & {
  at: undefined
  keepSentNumber: boolean | undefined
}

/** Copied for each request: adding the fields to an empty object one by one is slow. */
const noPlainFields = {
  ...Object.fromEntries(Object.keys(plainValues).map((name) => [name, undefined])),
  at: undefined,
  keepSentNumber: undefined,
} as PlainFields

const plainNames: ReadonlyMap<string, PlainField> = new Map(
  (Object.keys(plainValues) as PlainField[]).map((name) => [name, name]),
)

/**
 * Reads the usual request for a decision, a flat JSON object of a few short texts, many times faster
 * than its schema does, and with the same result. Gives `undefined` for everything else, also for what
 * is not valid: the schema reads it, or says what is wrong.
 */
export function readPlainDecision(body: string): DecisionRequest | undefined {
  if (body[0] !== '{') return undefined
  const found = { ...noPlainFields }
  plainField.lastIndex = 1
  for (let end = ','; end === ','; ) {
    const [, name = '', value = '', after = ''] = plainField.exec(body) ?? []
    if (!addPlainField(found, plainNames.get(name), value)) return undefined
    end = after
    if (end === '}' && plainField.lastIndex !== body.length) return undefined
  }
  return toPlainRequest(found)
}

/** False if the value is not one that the schema takes as it is, or the field was given before. */
function addPlainField(found: PlainFields, field: PlainField | undefined, value: string): boolean {
  if (field === undefined || found[field] !== undefined) return false
  if (!plainValues[field].test(value)) return false
  found[field] = value
  return true
}

function toPlainRequest(found: PlainFields): DecisionRequest | undefined {
  const isWhole = found.number !== undefined && found.callKind !== undefined
  return isWhole ? (found as DecisionRequest) : undefined
}

/** Throws for an instant outside the range of the calling rules, like IsTimeLegalToCall. */
export function requireInstantInRange(at: Instant, now: Instant): void {
  if (isWithinYears(at, now, 50)) return
  const rule = 'must be within 50 years of today'
  throw invalidRequest([{ field: 'at', value: formatInstant(at), rule }])
}

const predialRequest = fields({
  number: dialed,
  kind: callKind,
  purpose,
  project: optionalId,
  campaign: optionalId,
  postal: postalCode,
  callerid: optionalText(maxCallerIdLength),
  subject: optionalText(maxIdLength),
  person: optionalText(maxIdLength),
  ref: optionalText(maxReferenceLength),
  format: z.enum(['judged', 'sent'], 'must be judged or sent').optional(),
}).transform(
  ({
    number,
    kind,
    purpose,
    project,
    campaign,
    postal,
    callerid,
    subject,
    person,
    ref,
    format,
  }): DecisionRequest => ({
    number,
    callKind: kind,
    purpose,
    projectId: project,
    campaignId: campaign,
    postalCode: postal,
    callerId: callerid,
    subject,
    personId: person,
    reference: ref,
    at: undefined,
    keepSentNumber: format === 'sent',
  }),
)

const plainPredialNames: ReadonlyMap<string, PlainField> = new Map([
  ['number', 'number'],
  ['kind', 'callKind'],
  ['purpose', 'purpose'],
  ['project', 'projectId'],
  ['campaign', 'campaignId'],
  ['postal', 'postalCode'],
  ['callerid', 'callerId'],
  ['subject', 'subject'],
  ['person', 'personId'],
  ['ref', 'reference'],
])

/** Without the escapes of an address, and without a plus, which is one. */
const plainPair = /([a-z]+)=([\w.:-]+)(&|$)/y

/** The same as {@link readPlainDecision} for the address of a pre-dial call. */
export function readPlainPredial(address: string): DecisionRequest | undefined {
  const found = { ...noPlainFields }
  let format: string | undefined
  plainPair.lastIndex = address.indexOf('?') + 1
  for (let end = '&'; end === '&'; ) {
    const [pair, name = '', value = '', after = ''] = plainPair.exec(address) ?? []
    if (pair === undefined) return undefined
    if (name === 'format' && format === undefined && /^(?:judged|sent)$/.test(value)) format = value
    else if (!addPlainField(found, plainPredialNames.get(name), value)) return undefined
    end = after
  }
  found.keepSentNumber = format === 'sent'
  return toPlainRequest(found)
}

/**
 * Does not apply to emergency and service codes, which are allowed before these checks. What else limits the calls of a
 * key is a finding of the decision, so that there is a record of what it has asked for.
 */
export const decisionAccess = { rights: ['decide'], scopes: 'none' } as const

const common = {
  id: '0miorbb7lkr8h4z5w1xq2n3p',
  callKind: 'ai',
  decidedAt: '2026-11-23T17:00:00.000Z',
  judgedAt: '2026-11-23T17:00:00.000Z',
  whatIf: false,
  degraded: [],
  accountId: 'sandbox',
  keyId: 'k1',
  via: 'http',
  rules: '9f1b06c2d4aa',
  recordVersion: 1,
}

const until = '2026-11-23T17:15:00.000Z'
const waiting = { code: 'approval-waiting', params: { approval: 'ap-1', until } }

const decisionExamples = {
  requests: { agent: { number: '+1 (212) 555-0106', callKind: 'ai', reference: 'lead-7' } },
  replies: {
    allow: {
      ...common,
      decision: 'allow',
      reason: 'permitted',
      message: 'every check passed',
      number: '2125550106',
      dial: '2125550106',
      validUntil: '2026-11-23T17:01:00.000Z',
      findings: [],
      dialed: '+1 (212) 555-0106',
      reference: 'lead-7',
    },
    block: {
      ...common,
      decision: 'block',
      reason: 'no-consent',
      message: 'this kind of call requires a consent that is not on file',
      number: '2125550100',
      validUntil: '2026-11-23T17:10:00.000Z',
      findings: [
        {
          check: 'permission',
          verdict: 'deny',
          reason: 'no-consent',
          detail: 'wireless, on no do-not-call list, no consent on file (scrub result W)',
          says: [{ code: 'scrub-letter', params: { letter: 'W' } }],
          source: 'sandbox',
          ageMs: 0,
        },
      ],
      dialed: '2125550100',
    },
    waits: {
      ...common,
      decision: 'block',
      reason: 'approval-needed',
      message: 'a person must approve this call of the key first',
      number: '2125550106',
      validUntil: '2026-11-23T17:10:00.000Z',
      findings: [
        {
          check: 'mandate',
          verdict: 'deny',
          reason: 'approval-needed',
          detail: describeSaid([waiting]),
          says: [waiting],
          source: 'keys',
          ageMs: 0,
        },
      ],
      mandate: { version: 1, approval: { id: 'ap-1', expiresAt: until } },
      dialed: '2125550106',
    },
  },
}

export const decideEndpoint = defineEndpoint({
  name: 'decide',
  summary:
    'Decides whether a call may be placed now. Allow and block both have status 200. Emergency and ' +
    'service codes are always allowed, whatever else the request contains, even without a key. With the header ' +
    'Idempotency-Key, the same request sent again within 24 hours has the same decision.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/decisions'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  keyAlsoIn: [],
  ...decisionAccess,
  request: decisionRequest,
  response: decisionAnswerSchema,
  examples: decisionExamples,
  errors: 'problem',
})

export interface PredialReply {
  readonly line: string
  /** 503 if the decision could not be made or recorded. */
  readonly status: number
  /** Checks without a fresh answer that policy allowed. */
  readonly degraded: readonly string[]
}

/** Lists the checks in `degraded`, separated by commas, since the reply line has no field for them. */
const degradedHeader = 'X-Callgate-Degraded'

export function encodePredialReply({ line, status, degraded }: PredialReply): TextReply {
  return {
    status,
    text: `${line}\n`,
    ...(degraded.length > 0 && { headers: { [degradedHeader]: degraded.join(',') } }),
  }
}

const predialCommon = {
  summary:
    'Decides with one line for a dialplan: allow:<number>:<id>:end or block:<reason>:<id>:end. With ' +
    'format=sent the line repeats the number as sent, digits with or without a plus. Emergency and service ' +
    'codes are always allowed, whatever else the request contains, even without a key.',
  spec: 'the gate',
  paths: ['/v1/predial'],
  keyAsPassword: true,
  ...decisionAccess,
  request: predialRequest,
  response: z.object({
    line: z.string(),
    status: z.number(),
    degraded: z.array(z.string()).readonly(),
  }),
  replyTypes: ['text/plain'],
  replyPattern: '^(?:allow:\\+?[0-9]+|block:[a-z-]+):[0-9A-Za-z-]+:end\\n$',
  examples: {
    requests: { agent: { number: '2125550106', kind: 'ai', ref: '1700000000.42' } },
    replies: {
      allow: 'allow:2125550106:0miorbb7lkr8h4z5w1xq2n3p:end\n',
      block: 'block:no-consent:0miorbb7lkr8h4z5w1xq2n3p:end\n',
    },
  },
  errors: 'block-line',
  encode: encodePredialReply,
} as const

/**
 * The complete answer for a dialplan, in lower case, with the number and an end mark, since a dialplan
 * can detect neither the HTTP status nor a truncated reply.
 */
export function formatPredialLine(decision: {
  readonly decision: 'allow' | 'block'
  readonly number: string
  readonly reason: string
  readonly id: string
}): string {
  const subject = decision.decision === 'allow' ? decision.number : decision.reason
  return `${decision.decision}:${subject}:${decision.id}:end`
}

export const predialGet = defineEndpoint({
  ...predialCommon,
  name: 'predial-get',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
})

export const predialPost = defineEndpoint({
  ...predialCommon,
  name: 'predial-post',
  method: 'POST',
  accepts: ['form', 'json', 'query'],
  keyAlsoIn: ['form', 'query'],
  maxBodyBytes: maxSmallBodyBytes,
})

export const readDecisionEndpoint = defineEndpoint({
  name: 'decision',
  summary: 'The record of one decision of the account.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/decisions/:id'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['decide'],
  // The handler checks the key's limits after it has found the record.
  scopes: 'none',
  request: fields({ id: z.string().max(64, 'must not be longer than 64 characters') }),
  response: decisionRecordSchema,
  errors: 'problem',
})
