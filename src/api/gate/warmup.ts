/** The endpoints that look up numbers before they are dialed and report progress. */

import { z } from 'zod'
import { msPerHour } from '../../domain/time/dates.js'
import { defineEndpoint, singleScope } from '../endpoint.js'
import { fields, optionalId } from '../fields.js'

/**
 * - `asking`: the first pass over the numbers is in progress;
 * - `warm`: all numbers were looked up, and their answers are kept fresh;
 * - `ended`: the time to keep them fresh is over;
 * - `stopped`: the job was stopped before that.
 */
const warmupStates = ['asking', 'warm', 'ended', 'stopped'] as const
export type WarmupState = (typeof warmupStates)[number]

const defaultKeepForMs = msPerHour
const maxKeepForMs = 24 * defaultKeepForMs
const keepForRule = `must be a whole number of milliseconds from 0 to ${maxKeepForMs}`

/** How many refused numbers an answer lists; its count includes all of them. */
export const maxRefusedShown = 1_000

/**
 * Each item is text or `{"number": text, "postalCode": text}`. There may be hundreds of thousands, so
 * the handler validates them in slices.
 */
const numbers = z.custom<readonly unknown[]>(
  Array.isArray,
  'is required and must be a list of numbers, or of objects with number and postalCode',
)

const warmupRequestSchema = fields({
  numbers,
  projectId: optionalId,
  campaignId: optionalId,
  keepForMs: z
    .number(keepForRule)
    .int(keepForRule)
    .min(0, keepForRule)
    .max(maxKeepForMs, keepForRule)
    .nullish()
    .transform((ms) => ms ?? defaultKeepForMs),
})

export type WarmupRequestBody = z.output<typeof warmupRequestSchema>

const progress = {
  id: z.string(),
  state: z
    .enum(warmupStates)
    .describe(
      'asking: first pass; warm: kept fresh; ended: keepForMs is over; stopped: stopped early',
    ),
  numbers: z.number(),
  done: z.number().describe('Looked up at least once: fresh, answered and unanswered together'),
  fresh: z.number().describe('All answers were already cached'),
  answered: z.number().describe('Looked up, with no answer missing'),
  unanswered: z.number().describe('An answer was missing at the latest lookup'),
  startedAt: z.string(),
  keptUntil: z.string(),
  passes: z.number().describe('Completed passes over the whole list'),
  secondsLeft: z.number().optional().describe('Estimated, in state asking'),
}

const progressSchema = z.object(progress)

const startedSchema = z.object({
  ...progress,
  refused: z
    .array(z.object({ index: z.number(), value: z.string(), rule: z.string() }))
    .readonly()
    .describe(`Refused numbers with their index in the list; the first ${maxRefusedShown}`),
  refusedCount: z.number(),
})

export type WarmupProgressBody = z.output<typeof progressSchema>
export type WarmupStartedBody = z.output<typeof startedSchema>

const warmupCommon = { spec: 'the gate', keyAlsoIn: [], errors: 'problem' } as const

const jobIdRequest = fields({ id: z.string().max(64, 'must not be longer than 64 characters') })

export const startWarmupEndpoint = defineEndpoint({
  ...warmupCommon,
  name: 'warm-start',
  summary: 'Looks up numbers before they are called, and keeps the answers fresh for a while.',
  method: 'POST',
  paths: ['/v1/warm'],
  countNumbers: ({ numbers: phones }: WarmupRequestBody) => phones.length,
  accepts: ['json'],
  usesServiceThread: 'when-long',
  rights: ['decide'],
  scopes: singleScope,
  request: warmupRequestSchema,
  response: startedSchema,
  successStatus: 202,
  otherStatuses: { 429: 'Too many concurrent bulk calls' },
  encode: (started) => ({ status: 202, json: started }),
})

export const readWarmupEndpoint = defineEndpoint({
  ...warmupCommon,
  name: 'warm-progress',
  summary: 'Progress of a warmup job; a finished job is kept for an hour.',
  method: 'GET',
  paths: ['/v1/warm/:id'],
  accepts: ['query'],
  rights: ['decide'],
  scopes: 'none',
  request: jobIdRequest,
  response: progressSchema,
})

export const stopWarmupEndpoint = defineEndpoint({
  ...warmupCommon,
  name: 'warm-stop',
  summary: 'Stops a warmup job; cached answers stay until they expire.',
  method: 'POST',
  paths: ['/v1/warm/:id/stop'],
  accepts: ['query', 'json'],
  rights: ['decide'],
  scopes: 'none',
  request: jobIdRequest,
  response: progressSchema,
})
