/** What is heard of a call after its decision: its outcome, and an opt-out of the person called. */
import { z } from 'zod'
import { type Answerer, answerers, type SaidDisclosure } from '../../domain/call-outcome.js'
import { type OptOutScope, optOutScopes } from '../../domain/consent/consent-records.js'
import { disclosureKeys } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import type { FieldProblem } from '../../errors.js'
import { defineEndpoint, maxListBodyBytes, maxSmallBodyBytes } from '../endpoint.js'
import { dropEmpty, fields, toJsonSchema } from '../fields.js'
import { type OptOutRequest, optOutFields, readOptOut } from './opt-out-fields.js'

const maxIdLength = 64
const decisionId = z
  .string('must be text')
  .max(maxIdLength, 'must not be longer than 64 characters')

const requiredInstant = z.string('must be text').transform((text, context) => {
  const at = parseInstant(text)
  if (at !== undefined) return at
  context.addIssue('must be an instant such as 2026-11-23T17:00:00Z')
  return z.NEVER
})
const instant = requiredInstant.optional()

const word = (maxLength: number) =>
  z
    .string('must be text')
    .regex(/^[\w.:/@ -]+$/, 'must be letters, digits and . : / @ _ - or spaces')
    .max(maxLength, `must not be longer than ${maxLength} characters`)
    .optional()

const ofAnswered = [
  'answeredBy',
  'greetingEndedAt',
  'connectedAt',
  'messagePlayed',
  'identityConfirmed',
  'fromPlatform',
  'said',
] as const

const reportedStates = ['not-placed', 'dialed', 'dialled', 'answered', 'failed'] as const

export interface OutcomeReport {
  readonly state: 'not-placed' | 'dialled' | 'answered' | 'failed'
  /** Of the event that the state names. */
  readonly at?: Instant | undefined
  readonly leg?: string | undefined
  readonly dialledAt?: Instant | undefined
  readonly answeredAt?: Instant | undefined
  readonly answeredBy?: Answerer | undefined
  readonly greetingEndedAt?: Instant | undefined
  readonly connectedAt?: Instant | undefined
  readonly messagePlayed?: boolean | undefined
  readonly identityConfirmed?: true | undefined
  /** Whether it is an event of a voice platform, which knows neither who answered nor when somebody spoke. */
  readonly fromPlatform?: boolean | undefined
  readonly said?: readonly SaidDisclosure[] | undefined
  readonly failedAt?: Instant | undefined
  readonly endedAt?: Instant | undefined
  readonly dialStatus?: string | undefined
  readonly cause?: number | undefined
}

export type OutcomeRequest = OutcomeReport & { readonly id: string }

/** The fields are those of `outcome` in the record of a decision. */
const reportFields = fields({
  id: decisionId,
  state: z
    .enum(reportedStates, 'must be not-placed, dialed, answered or failed')
    .transform((state) => (state === 'dialed' ? 'dialled' : state))
    .describe('not-placed: it never left, and does not count; dialed and dialled are the same'),
  at: instant.describe('When that was, now if absent; in place of the field of the state'),
  leg: word(100).describe('The platform’s id of the call'),
  dialledAt: instant,
  answeredAt: instant,
  answeredBy: z
    .enum(answerers, 'must be person, machine or unknown')
    .optional()
    .describe('Of an answered call'),
  greetingEndedAt: instant.describe('When the person had finished the greeting'),
  connectedAt: instant.describe('When somebody, or a voice, began to speak to the person'),
  messagePlayed: z
    .boolean('must be true or false')
    .optional()
    .describe('Whether a recorded message was played because nobody spoke'),
  identityConfirmed: z
    .literal(true, 'must be true')
    .optional()
    .describe(
      'The person who answered confirmed the identity: reassigned numbers are asked about from that day on. Needs the right consent',
    ),
  fromPlatform: z
    .boolean('must be true or false')
    .optional()
    .describe(
      'True for an event of a voice platform. Platforms rarely know when somebody spoke to the person, so an answer ' +
        'without times does not count for the share of abandoned calls',
    ),
  said: z
    .array(
      fields({
        key: z.enum(disclosureKeys, `must be one of ${disclosureKeys.join(', ')}`),
        at: requiredInstant.describe('When it was said'),
      }),
      'must be a list of what was said',
    )
    .min(1, 'must not be empty')
    .max(disclosureKeys.length, `must have at most ${disclosureKeys.length} entries`)
    .optional()
    .describe('The disclosures of the decision that were said; the first report of each stays'),
  failedAt: instant,
  endedAt: instant,
  dialStatus: word(100).describe('Why it ended, in the words of the platform'),
  cause: z.int('must be a whole number').min(0).max(127, 'must be a Q.850 cause').optional(),
}).superRefine(({ state, at, ...times }, context) => {
  const complain = (path: string, message: string, input: unknown) =>
    context.addIssue({ code: 'custom', path: [path], message, input })
  for (const field of ofAnswered) {
    const given = times[field]
    if (given === undefined || state === 'answered') continue
    const value = typeof given === 'number' ? formatInstant(given) : given
    complain(field, 'is only for state answered', value)
  }
  const twice = state === 'not-placed' ? undefined : (`${state}At` as const)
  if (at !== undefined && twice && times[twice] !== undefined)
    complain('at', `is the same as ${twice} of this state; send one of them`, formatInstant(at))
})
const outcomeRequest: z.ZodType<OutcomeRequest> = z.preprocess(dropEmpty, reportFields)

export const outcomeEndpoint = defineEndpoint<OutcomeRequest, { readonly recorded: true }>({
  name: 'outcome',
  summary:
    'Reports the outcome of a call. Answered wins over failed, in whatever order they arrive; a later report only adds what is missing. ' +
    'The attempt counts from dialing; one that was not placed does not count.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/decisions/:id/outcome'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  keyAlsoIn: [],
  rights: [
    'decide',
    // It moves the day that calls may rest on.
    {
      right: 'consent',
      condition: 'identityConfirmed is given',
      appliesTo: ({ identityConfirmed }) => identityConfirmed === true,
    },
    // Otherwise any dialer could leave its answered calls uncounted.
    {
      right: 'platform',
      condition: 'fromPlatform is true',
      appliesTo: ({ fromPlatform }) => fromPlatform === true,
    },
  ],
  // The handler checks the key's limits after it has found the record.
  scopes: 'none',
  request: outcomeRequest,
  response: z.object({ recorded: z.literal(true) }),
  errors: 'problem',
})

const optOutRequest: z.ZodType<OptOutRequest> = z
  .custom<object>((given) => typeof given === 'object' && given !== null)
  .meta(toJsonSchema(optOutFields))
  .transform(readOptOut)
/** Instants are in ISO 8601. */
export interface OptOutResponse {
  readonly recorded: true
  readonly scope: OptOutScope
  readonly receivedAt: string
  /** Since then no call is allowed. */
  readonly effectiveAt: string
  readonly understood: boolean
  readonly lastDay: string | null
  readonly confirmation: { readonly messages: 1; readonly before: string } | null
  readonly rules: readonly { readonly id: string; readonly citation: string }[]
  /** What was sent and could not be used as it is. */
  readonly ignored?: readonly FieldProblem[] | undefined
  /** If it was asked for; null if it could not be recorded. */
  readonly receipt?: string | null | undefined
}

export const optOutEndpoint = defineEndpoint<OptOutRequest, OptOutResponse>({
  name: 'opt-out',
  summary:
    'Puts the person called on the internal do-not-call lists of the account, by the number or by the decision about ' +
    'the call. It is on disk and in force when the answer is sent. The same words about the same decision are stored once.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/opt-outs'],
  accepts: ['json', 'form', 'multipart', 'query'],
  acceptsAnyContentType: true,
  // Opt-outs are short, but a long one must not be refused.
  maxBodyBytes: maxListBodyBytes,
  keyAlsoIn: [],
  rights: ['records'],
  // The handler compares the project with the key.
  scopes: 'none',
  request: optOutRequest,
  response: z.object({
    recorded: z.literal(true),
    scope: z.enum(optOutScopes),
    receivedAt: z.string(),
    effectiveAt: z.string(),
    understood: z
      .boolean()
      .describe('False: the words are an opt-out all the same, and a person should read them'),
    lastDay: z
      .string()
      .nullable()
      .describe('The last day on which the law would have it honored, which has happened already'),
    confirmation: z
      .object({ messages: z.literal(1), before: z.string() })
      .nullable()
      .describe('One text without marketing may confirm it until then; null: send none'),
    rules: z.array(z.object({ id: z.string(), citation: z.string() })),
    ignored: z
      .array(z.object({ field: z.string(), value: z.string().optional(), rule: z.string() }))
      .optional()
      .describe('Fields that could not be used as sent; absent if there are none'),
    receipt: z
      .string()
      .nullable()
      .optional()
      .describe(
        'If it was asked for: a signed note with the number of its record; null if it could not be recorded. The opt-out is in ' +
          'force all the same',
      ),
  }),
  errors: 'problem',
})
