/** Calls and texts of other systems, which count with those that callgate allowed. */
import { z } from 'zod'
import { callPurposes, maxIdLength } from '../../domain/decision.js'
import type { ImportedAttempt } from '../../domain/mandate.js'
import { defineEndpoint } from '../endpoint.js'
import { eachItem, fields, instant, optionalText } from '../fields.js'
import { strictPhone } from '../reputation/monitored-number.js'

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
