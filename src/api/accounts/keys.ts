/** The endpoints of the keys of an account, and of what is paused. */
import { z } from 'zod'
import { type Right, type Role, rights, roles } from '../../domain/caller.js'
import {
  type ApprovalRule,
  approvalRules,
  type CallKind,
  type CallLimits,
  callKinds,
  type PauseSubject,
} from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, instant, optionalText } from '../fields.js'
import { callKindMeta, instant as instantText } from '../gate/decision-body.js'

/** The members of a request that it has; `undefined` in them means no limit. */
interface LimitsRequest {
  readonly rights?: readonly Right[] | undefined
  readonly projects?: readonly string[] | undefined
  readonly callKinds?: readonly CallKind[] | undefined
  readonly calls?: CallLimits
  readonly notBefore?: Instant | undefined
  readonly expiresAt?: Instant | undefined
}

const maxListed = 100
const maxReasonLength = 500
const maxPauseReasonLength = 200

const listOf = <Item extends z.ZodType>(item: Item, what: string) =>
  z
    .array(item, `must be a list of ${what}, or null`)
    .min(1, 'must have at least 1')
    .max(maxListed, `must have at most ${maxListed}`)
    .nullable()
    .optional()

const word = z.string('must be text').max(40, 'must not be longer than 40 characters')
const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`)
const count = z
  .int('must be a whole number, or null')
  .positive('must be 1 or more')
  .nullable()
  .optional()

const limitFields = {
  rights: listOf(oneOf(rights), 'rights'),
  projects: listOf(word, 'codes of projects').describe('Only these projects and their campaigns'),
  kinds: listOf(oneOf(callKinds).meta(callKindMeta), 'kinds of calls'),
  campaigns: listOf(z.int('must be a whole number'), 'ids of campaigns'),
  callerIds: z
    .union([z.literal('valid'), z.array(word).min(1).max(maxListed)], {
      error: () => `must be valid, a list of 1 to ${maxListed} numbers, or null`,
    })
    .nullable()
    .optional()
    .describe('Numbers that its calls may show; `valid`: any valid number, but there must be one'),
  regions: listOf(word, 'codes of states and provinces').describe('Such as NY'),
  attemptsPerHour: count.describe('Allows in an hour'),
  attemptsPerDay: count.describe('Allows in 24 hours'),
  attemptsPerNumberPerDay: count.describe('Allows for one number in 24 hours'),
  coolDownSeconds: count.describe('Between two allows for one number'),
  concurrent: count.describe('Calls in progress; each counts for two hours'),
  approval: oneOf(approvalRules)
    .nullable()
    .optional()
    .describe('Which calls a person must approve'),
  notBefore: instant.nullable().optional().describe('The key is refused before'),
  expires: instant.nullable().optional().describe('The key is refused from then on'),
}

function toLimits(wire: z.output<z.ZodObject<typeof limitFields>>): LimitsRequest {
  const { rights: can, projects, kinds, notBefore, expires, ...rest } = wire
  const calls = keepNamed<CallLimits>(rest)
  return {
    ...keepNamed<LimitsRequest>({
      ...{ rights: can, projects, callKinds: kinds, notBefore, expiresAt: expires },
    }),
    ...(Object.keys(calls).length > 0 && { calls }),
  }
}

/** Without the members that the request does not have. */
function keepNamed<Limits extends object>(
  members: {
    readonly [Name in keyof Limits]: Limits[Name] | null
  },
): Limits {
  const named = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(named.map(([name, value]) => [name, value ?? undefined])) as Limits
}

const reason = optionalText(maxReasonLength).describe('Why; kept in the audit')
const id = z.string().max(64, 'must not be longer than 64 characters')

const pauseShape = {
  pausedAt: instantText,
  pausedBy: z.string().describe('A key, or a user at the command line'),
  reason: z.string(),
}

const approval: z.ZodType<ApprovalRule> = z.enum(approvalRules)
const keySchema = z
  .object({
    id: z.string(),
    label: z.string(),
    role: z.enum(roles),
    state: z
      .enum(['in-force', 'paused', 'not-yet', 'expired', 'unreadable', 'revoked'])
      .describe('`unreadable`: this version cannot read its limits, so it is refused'),
    createdAt: instantText,
    revokedAt: instantText.optional(),
    lastUsedAt: instantText
      .optional()
      .describe(
        'Of its last request, also with a token of it, up to a minute late; absent if there is none',
      ),
    pause: z.object(pauseShape).optional(),
    version: z.int().describe('Of its limits; grows by one with each change'),
    rights: z.array(z.enum(rights)).readonly(),
    projects: z.array(z.string()).readonly().optional().describe('All if absent, as all limits'),
    kinds: z.array(z.enum(callKinds).meta(callKindMeta)).readonly().optional(),
    campaigns: z.array(z.int()).readonly().optional(),
    callerIds: z.union([z.literal('valid'), z.array(z.string()).readonly()]).optional(),
    regions: z.array(z.string()).readonly().optional(),
    attemptsPerHour: z.int().optional(),
    attemptsPerDay: z.int().optional(),
    attemptsPerNumberPerDay: z.int().optional(),
    coolDownSeconds: z.int().optional(),
    concurrent: z.int().optional(),
    approval: approval.optional(),
    notBefore: instantText.optional(),
    expires: instantText.optional(),
  })
  .meta({ id: 'Key' })
export type KeyBody = z.output<typeof keySchema>

const common = {
  spec: 'none; callgate only',
  keyAlsoIn: [],
  rights: ['manage'],
  // Of all projects.
  scopes: 'none',
  errors: 'problem',
} as const

export const listKeysEndpoint = defineEndpoint({
  ...common,
  name: 'keys',
  summary:
    'The keys of the account without their values, the newest first, at most 500; with `revoked=true` also those that are revoked. ' +
    'The key needs role Supervisor or Administrator and no limit to projects.',
  method: 'GET',
  paths: ['/v1/keys'],
  accepts: ['query'],
  request: fields({
    id: optionalText(64).describe('Only this one'),
    revoked: z
      .enum(['true', 'false'], 'must be true or false')
      .default('false')
      .transform((text) => text === 'true')
      .describe('Also those that are revoked'),
  }),
  response: z.object({ keys: z.array(keySchema).readonly() }),
})

interface CreateKeyRequest extends LimitsRequest {
  readonly label: string
  readonly role: Role
  readonly reason?: string | undefined
}

const createKeyRequest: z.ZodType<CreateKeyRequest> = fields({
  label: z
    .string('is required and must be text')
    .transform((text) => text.trim())
    .pipe(z.string().min(1, 'is required').max(100, 'must not be longer than 100 characters'))
    .describe('What the key is for; no other key in force may have it'),
  role: z.enum(roles, `is required and must be one of ${roles.join(', ')}`),
  ...limitFields,
  reason,
}).transform(({ label, role, reason: why, ...limits }) => ({
  ...{ label, role, reason: why },
  ...toLimits(limits),
}))

export const createKeyEndpoint = defineEndpoint({
  ...common,
  name: 'key-create',
  summary:
    'Makes a key, which is only in this answer. It may do no more than the key that asks: limits that are absent are those of that ' +
    'key, and a key whose own calls are counted or need approval can make none. The key needs role Administrator and no limit to projects.',
  method: 'POST',
  paths: ['/v1/keys'],
  accepts: ['json'],
  otherStatuses: { 409: 'A key in force has that label, or the account has 500 keys' },
  request: createKeyRequest,
  response: z.object({
    id: z.string(),
    key: z.string().describe('Stored hashed, and not shown again'),
  }),
})

interface ChangeKeyRequest extends LimitsRequest {
  readonly id: string
  readonly version?: number | undefined
  readonly reason?: string | undefined
}

const changeKeyRequest: z.ZodType<ChangeKeyRequest> = fields({
  id,
  version: z
    .int('must be a whole number')
    .optional()
    .describe('The version that was shown; nothing is changed if there is a newer one'),
  ...limitFields,
  reason,
}).transform(({ id: key, version, reason: why, ...limits }) => ({
  ...{ id: key, version, reason: why },
  ...toLimits(limits),
}))

export const changeKeyEndpoint = defineEndpoint({
  ...common,
  name: 'key-change',
  summary:
    'Changes limits of a key of the account, within a second. A limit that is absent stays, and `null` ends it. Afterwards the key ' +
    'may do no more than before, or no more than the key that asks, which needs role Administrator and no limit to projects.',
  method: 'POST',
  paths: ['/v1/keys/:id'],
  accepts: ['json'],
  otherStatuses: {
    404: 'The account has no such key in force',
    409: 'The version is not the newest',
  },
  request: changeKeyRequest,
  response: z.object({ id: z.string(), version: z.int() }),
})

export const revokeKeyEndpoint = defineEndpoint({
  ...common,
  name: 'key-revoke',
  summary:
    'Revokes a key of the account and its access tokens for good, within a second. The key that asks needs role Administrator and ' +
    'no limit to projects.',
  method: 'POST',
  paths: ['/v1/keys/:id/revoke'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 404: 'The account has no such key in force' },
  request: fields({ id, reason }),
  response: z.object({ revoked: z.literal(true) }),
})

const pauseSchema = z.object({ subject: z.string(), ...pauseShape }).meta({ id: 'Pause' })
export type PauseBody = z.output<typeof pauseSchema>

export const listPausesEndpoint = defineEndpoint({
  ...common,
  name: 'pauses',
  summary:
    'What is paused of the account, or of the whole installation. The key needs role Supervisor or Administrator and no limit to ' +
    'projects.',
  method: 'GET',
  paths: ['/v1/pauses'],
  accepts: ['query'],
  request: fields({}),
  response: z.object({ pauses: z.array(pauseSchema).readonly() }),
})

const subjectRule =
  'must be ai, ai:<account>, agents:<account>, key:<id>, country:US:<account> or country:CA:<account>'
const subject = z
  .string(subjectRule)
  .max(120, subjectRule)
  .regex(/^(?:ai|(?:ai|agents|key|country:(?:US|CA)):.+)$/, subjectRule)
  .transform((text) => text as PauseSubject)
  .describe(
    '`ai`: all AI calls of the installation, for account main alone; `ai:<account>`: all AI calls of the account; ' +
      '`agents:<account>`: all calls of its keys for AI calls alone; `key:<id>`: all calls of a key; `country:US:<account>` and ' +
      '`country:CA:<account>`: all calls of the account to a country that it does not call',
  )

export const pauseEndpoint = defineEndpoint({
  ...common,
  name: 'pause',
  summary:
    'Blocks calls until somebody ends the pause, on every server within a second. Opt-outs are still accepted. The key needs role ' +
    'Supervisor or Administrator and no limit to projects.',
  method: 'POST',
  paths: ['/v1/pauses'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 409: 'It is paused already' },
  request: fields({
    subject,
    reason: z
      .string('is required and must be text')
      .transform((text) => text.trim())
      .pipe(
        z
          .string()
          .min(1, 'is required')
          .max(maxPauseReasonLength, `must not be longer than ${maxPauseReasonLength} characters`),
      )
      .describe('Why, for those who see the blocked calls'),
  }),
  response: z.object({ paused: z.literal(true) }),
})

export const endPauseEndpoint = defineEndpoint({
  ...common,
  name: 'pause-end',
  summary:
    'Ends a pause, within a second. The key needs role Administrator and no limit to projects, and must not be paused itself.',
  method: 'POST',
  paths: ['/v1/pauses/end'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 404: 'It is not paused' },
  request: fields({ subject, reason }),
  response: z.object({ ended: z.literal(true) }),
})
