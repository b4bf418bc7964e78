/** The calls that have numbers asked about before they are dialled, and tell how far that is. */
import { z } from 'zod'
import { warmStates } from '../domain/warm-state.js'
import { endpoint, oneScope } from './endpoint.js'
import { fields, optionalId } from './fields.js'

const hourMs = 3_600_000
const longestKeepForMs = 24 * hourMs
const keepForRule = `must be a whole number of milliseconds from 0 to ${longestKeepForMs}`

/** How many refused numbers an answer lists; it counts all of them. */
export const mostRefusedShown = 1_000

/**
 * There may be hundreds of thousands, so what each must be is judged a slice at a time by whoever
 * answers: text, or `{"number": text, "postalCode": text}`.
 */
const numbers = z.custom<readonly unknown[]>(
  Array.isArray,
  'is required and must be a list of numbers, or of objects with number and postalCode',
)

const warmRequest = fields({
  numbers,
  projectId: optionalId,
  campaignId: optionalId,
  keepForMs: z
    .number(keepForRule)
    .int(keepForRule)
    .min(0, keepForRule)
    .max(longestKeepForMs, keepForRule)
    .nullish()
    .transform((ms) => ms ?? hourMs),
})

export type WarmFields = z.output<typeof warmRequest>

const progress = {
  id: z.string(),
  state: z
    .enum(warmStates)
    .describe('asking: for the first time; warm: kept fresh; ended: time is over; stopped'),
  numbers: z.number(),
  done: z.number().describe('Asked about at least once: fresh, answered and unanswered together'),
  fresh: z.number().describe('All answers were kept already'),
  answered: z.number().describe('Something was asked, and no answer is missing'),
  unanswered: z.number().describe('At the latest asking an answer was missing'),
  startedAt: z.string(),
  keptUntil: z.string(),
  passes: z.number().describe('How often the whole list was gone through'),
  secondsLeft: z.number().optional().describe('Estimate, while asking'),
}

const progressSchema = z.object(progress)

const startedSchema = z.object({
  ...progress,
  refused: z
    .array(z.object({ index: z.number(), value: z.string(), rule: z.string() }))
    .readonly()
    .describe(`Numbers left out, by their place in the list from 0; the first ${mostRefusedShown}`),
  refusedCount: z.number(),
})

export type WarmBody = z.output<typeof progressSchema>
export type WarmStartedBody = z.output<typeof startedSchema>

const warm = { spec: 'the gate', keyAlsoIn: [], errors: 'problem' } as const

const oneJob = fields({ id: z.string().max(64, 'must not be longer than 64 characters') })

export const startWarming = endpoint({
  ...warm,
  name: 'warm-start',
  summary: 'Asks about numbers before they are called, and keeps the answers fresh for a while.',
  method: 'POST',
  paths: ['/v1/warm'],
  numbers: ({ numbers: given }: WarmFields) => given.length,
  accepts: ['json'],
  rights: ['decide'],
  scopes: oneScope,
  request: warmRequest,
  response: startedSchema,
  success: 202,
  outcomes: { 429: 'Too many bulk calls at once' },
  encode: (started) => ({ status: 202, json: started }),
})

export const readWarming = endpoint({
  ...warm,
  name: 'warm-progress',
  summary: 'How far the asking is; a job that is over is known for an hour.',
  method: 'GET',
  paths: ['/v1/warm/:id'],
  accepts: ['query'],
  rights: ['decide'],
  scopes: 'none',
  request: oneJob,
  response: progressSchema,
})

export const stopWarming = endpoint({
  ...warm,
  name: 'warm-stop',
  summary: 'Asks about nothing more; what is kept stays until it ends.',
  method: 'POST',
  paths: ['/v1/warm/:id/stop'],
  accepts: ['query', 'json'],
  rights: ['decide'],
  scopes: 'none',
  request: oneJob,
  response: progressSchema,
})
