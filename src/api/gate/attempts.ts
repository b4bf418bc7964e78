/** How often a number may be called and was; and calls and texts of other systems, which count with those that callgate allowed. */
import { z } from 'zod'
import { callKinds, callPurposes, maxIdLength } from '../../domain/decision.js'
import { countedReach, type ImportedAttempt } from '../../domain/mandate.js'
import { defineEndpoint, singleScope } from '../endpoint.js'
import { eachItem, fields, instant, optionalEnum, optionalId, optionalText } from '../fields.js'
import { attemptsShape } from '../records/number.js'
import { strictPhone } from '../reputation/monitored-number.js'
import { instant as instantText } from './decision-body.js'

export const maxAttempts = 1_000
const maxBodyBytes = 1_048_576

export const importedAttempt: z.ZodType<ImportedAttempt> = fields({
  number: strictPhone,
  at: instant.describe('When it was dialed or sent; within the last 31 days'),
  ref: z
    .string('must be text')
    .regex(/^[\x21-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters without spaces')
    .describe('Your id of the call or text: with it, the same one is counted once'),
  channel: z.enum(['call', 'text'], 'must be call or text').describe('Both count alike'),
  subject: optionalText(maxIdLength).describe(
    'One of gate.subjects; without one it counts for every subject',
  ),
  personId: optionalText(maxIdLength).describe('Your name for the person'),
  purpose: z
    .enum(callPurposes, `must be one of ${callPurposes.join(', ')}`)
    .optional()
    .describe('What it was for; telemarketing if absent'),
  answered: z
    .boolean('must be true or false')
    .optional()
    .describe('Unknown if absent, which counts as answered'),
}).transform(({ answered, ...attempt }) => ({
  ...attempt,
  // Whether a person talked is not known.
  reach: answered === undefined ? undefined : answered ? (2 as const) : (0 as const),
}))

const list = z
  .array(z.unknown(), 'must be a list of attempts')
  .min(1, 'must have at least 1 attempt')
  .max(maxAttempts, `must have at most ${maxAttempts} attempts`)

export const importAttemptsEndpoint = defineEndpoint({
  name: 'attempts',
  summary:
    'Counts calls and texts of other systems towards the limits on how often a person is called: all or none of them. ' +
    'The same ref with the same content changes nothing; with other content it is refused with 409.',
  spec: 'the gate',
  method: 'POST',
  paths: ['/v1/attempts'],
  accepts: ['json'],
  maxBodyBytes,
  keyAlsoIn: [],
  rights: ['records'],
  // They count for the whole account, and permit nothing.
  scopes: 'none',
  request: fields({ attempts: eachItem(list, importedAttempt) }),
  response: z.object({ recorded: z.literal(true) }),
  errors: 'problem',
})

const reaches = Object.keys(countedReach) as (keyof typeof countedReach)[]
const nullableInstant = instantText.nullable()

const limit = z.object({
  id: z.string().describe('Of the row of the calling rules; `house` for one of gate.houseLimits'),
  citation: z.string(),
  calls: z.int().describe('So many calls at most in the time before a call'),
  seconds: z
    .int()
    .nullable()
    .describe(
      'Elapsed; null for whole days, which are a day more of hours where no time zone is known',
    ),
  days: z
    .object({ count: z.int(), zone: z.string() })
    .nullable()
    .describe('Whole days in a time zone, of which the day of the call is the last'),
  per: z.enum(['person', 'number']),
  counts: z
    .enum(reaches)
    .describe('The calls that reached so far, and those of which it is not known'),
  liftedByPermission: z.boolean().describe('A permission on file for the call lifts it'),
  counted: z.int().nullable().describe('At most `calls`; null without a number'),
  freeAt: nullableInstant.describe('When it has room; null if it has now, or without a number'),
})

const limitsResponse = z.object({
  number: z.string().nullable(),
  asOf: instantText,
  kind: z.enum(callKinds),
  purpose: z.enum(callPurposes),
  enforced: z.boolean().describe('false: in shadow mode, a full limit is noted and blocks no call'),
  limits: z
    .array(limit)
    .readonly()
    .describe('Of the places where the number may be; without a number, of all places'),
  freeAt: nullableInstant.describe('When all limits have room; null if they have now'),
  attempts: z
    .object(attemptsShape)
    .nullable()
    .describe('As in `GET /v1/numbers/{number}`; null without a number'),
})

export type AttemptLimitsBody = z.output<typeof limitsResponse>

export const attemptLimitsEndpoint = defineEndpoint({
  name: 'attempts-get',
  summary:
    'How often a number may be called, how often it was, and when the limits have room again; without a number, the limits alone. ' +
    'What else may block a call is not asked, and neither are the limits of a key, nor exceptions of the laws. The read of a number is recorded.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/attempts'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: singleScope,
  rateClass: 'ebr',
  countNumbers: ({ number }) => (number === undefined ? 0 : 1),
  request: fields({
    number: z.preprocess((text) => text || undefined, strictPhone.optional()),
    kind: optionalEnum(callKinds, 'manual'),
    purpose: optionalEnum(callPurposes, 'telemarketing'),
    projectId: optionalId.describe('Whose calls are limited; the Master Project if absent'),
    personId: optionalText(maxIdLength).describe(
      'Your name for the person: calls to their other numbers count too',
    ),
    reason: optionalText(200).describe('What it is read for; kept with the record of the read'),
  }),
  response: limitsResponse,
  errors: 'problem',
})

export type AttemptLimitsRequest = z.output<typeof attemptLimitsEndpoint.request>
