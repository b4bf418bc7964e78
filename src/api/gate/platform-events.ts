/** Endpoints for the proxy of a voice platform: it reports the calls that it forwards, and passes on the platform's events. */
import { z } from 'zod'
import { parseInstant } from '../../domain/time/dates.js'
import { type PlatformName, platformNames } from '../../platform-events/call-event.js'
import { defineEndpoint, maxListBodyBytes, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalText } from '../fields.js'

const common = {
  spec: 'none; callgate only',
  keyAlsoIn: [],
  rights: ['records'],
  scopes: 'none',
  errors: 'problem',
} as const

const recorded = z.object({ recorded: z.literal(true) })

const platform = z.enum(platformNames, `must be one of ${platformNames.join(', ')}`)

const instant = z.string('must be text').transform((text, context) => {
  const at = parseInstant(text)
  if (at !== undefined) return at
  context.addIssue('must be an instant such as 2026-11-23T17:00:00Z')
  return z.NEVER
})

const reference = (maxLength: number) =>
  z
    .string('must be text')
    .min(1, 'must not be empty')
    .max(maxLength, `must not be longer than ${maxLength} characters`)

const maxCalls = 1_000
const maxCallIds = 20

const platformCall = fields({
  decisionId: reference(64).describe('Id of the decision that allowed the call'),
  number: reference(64).describe('Number of the person called'),
  callIds: z
    .array(reference(300), 'must be a list of texts')
    .max(maxCallIds, `must have at most ${maxCallIds} entries`)
    .default([])
    .describe('Ids of the call at the platform; empty until the platform has answered'),
  fetchedAt: instant
    .optional()
    .describe('When the proxy asked the platform for the words of the call, whatever it answered'),
})

export const platformCallsEndpoint = defineEndpoint({
  ...common,
  name: 'platform-calls',
  summary:
    'Records calls that a proxy forwards to a voice platform: before it forwards them, and again with the ids that the platform gave them. ' +
    'Events that arrived before and belong to these calls are joined to them. Can be sent again.',
  method: 'POST',
  paths: ['/v1/platform-calls'],
  accepts: ['json'],
  maxBodyBytes: maxListBodyBytes,
  usesServiceThread: 'when-long',
  request: fields({
    platform,
    calls: z
      .array(platformCall, 'must be a list of calls')
      .min(1, 'must not be empty')
      .max(maxCalls, `must have at most ${maxCalls} entries`),
  }),
  response: recorded,
})

export const duePlatformCallsEndpoint = defineEndpoint({
  ...common,
  name: 'platform-calls-due',
  summary:
    'Lists at most 100 calls without words, ten minutes after their end or two hours after they were allowed, ended calls first. ' +
    'The proxy asks the platform for their words, sends the answer as an event, and reports with `fetchedAt` that it has asked.',
  method: 'GET',
  paths: ['/v1/platform-calls'],
  accepts: ['query'],
  request: fields({ platform, due: z.literal('fetch', 'is required and must be fetch') }),
  response: z.object({
    calls: z
      .array(
        z.object({
          decisionId: z.string(),
          number: z.string(),
          callIds: z.array(z.string()).readonly(),
        }),
      )
      .readonly(),
  }),
})

interface PlatformEventRequest {
  readonly platform: PlatformName
  readonly receivedAt: number
  readonly body: string
  readonly query: string
  readonly delivery?: 'fetched' | 'late' | undefined
}

const eventRequest: z.ZodType<PlatformEventRequest> = fields({
  platform,
  receivedAt: instant.describe('When the proxy received it'),
  body: z.string('must be text').describe('As the proxy received it'),
  query: z
    .string('must be text')
    .default('')
    .describe('Query of the address that the platform sent it to, without the question mark'),
  delivery: z
    .enum(['fetched', 'late'], 'must be fetched, late or absent')
    .optional()
    .describe(
      'fetched: the answer of the platform to a request of the proxy. late: its signature is more than five minutes old, so it can ' +
        'opt a person out, but not report a call as unanswered',
    ),
})

export const platformEventEndpoint = defineEndpoint({
  ...common,
  name: 'platform-event',
  summary:
    'Stores an event of a voice platform whose signature the proxy has verified, and then reads the outcome of the call and any opt-out ' +
    'from it. The answer comes when the event is on disk, whatever its content.',
  method: 'POST',
  paths: ['/v1/platform-events'],
  accepts: ['json'],
  usesServiceThread: 'when-long',
  request: eventRequest,
  response: recorded,
})

export const platformReportEndpoint = defineEndpoint({
  ...common,
  name: 'platform-report',
  summary:
    'Reports how many events the proxy has refused because of their signature, and whether it can fetch calls from the platform.',
  method: 'POST',
  paths: ['/v1/platform-reports'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  request: fields({
    platform,
    refusedSignatures: z
      .int('must be a whole number')
      .min(0, 'must not be negative')
      .max(1_000_000_000, 'must not be above 1000000000')
      .optional()
      .describe('Events refused since the last report'),
    canFetch: z
      .boolean('must be true or false')
      .optional()
      .describe('Whether the proxy has a key to read calls from the platform'),
  }),
  response: recorded,
})

const unclearKinds = ['words', 'speaker', 'summary', 'own-number', 'unjoined'] as const

const unclearOptOut = z
  .object({
    id: z.string(),
    platform,
    kind: z
      .enum(unclearKinds)
      .describe(
        'words: what the person said may be an opt-out. speaker: the speaker of the words is unknown. summary: the words are about the call. ' +
          'own-number: the number of the person would be a caller ID of the account. unjoined: the person asked not to be called, in an unknown call',
      ),
    heardAt: z.string(),
    number: z.string().nullable().describe('Number of the person, if known'),
    decisionId: z.string().nullable(),
    said: z.string().nullable(),
    heldNumbers: z
      .int()
      .describe(
        'How many numbers are blocked until the opt-out is joined to its call, confirmed or dismissed',
      ),
  })
  .meta({ id: 'UnclearOptOut' })
export type UnclearOptOutBody = z.output<typeof unclearOptOut>

const platformFigures = z
  .object({
    platform,
    canFetch: z
      .boolean()
      .nullable()
      .describe(
        'Whether the proxy can fetch calls from the platform; null if no proxy has reported it',
      ),
    placed: z.int().describe('Calls allowed in the last 24 hours'),
    answered: z.int(),
    heard: z.int().describe('Answered calls with words of the person'),
    optedOut: z.int(),
    problem: z.string().nullable().describe('Why opt-outs are probably lost'),
  })
  .meta({ id: 'PlatformFigures' })

export const listUnclearOptOutsEndpoint = defineEndpoint({
  ...common,
  name: 'unclear-opt-outs',
  summary:
    'Lists the oldest 200 possible opt-outs that take effect only when a person confirms them, and for each platform how many calls ' +
    'of the last 24 hours were answered and had words of the person.',
  method: 'GET',
  paths: ['/v1/unclear-opt-outs'],
  accepts: ['query'],
  request: fields({}),
  response: z.object({
    unclear: z.array(unclearOptOut).readonly(),
    platforms: z.array(platformFigures).readonly(),
  }),
})

export const resolveUnclearOptOutEndpoint = defineEndpoint({
  ...common,
  name: 'unclear-opt-out',
  summary:
    'Confirms an unclear opt-out, which then takes effect for the number, or dismisses it. Both release the numbers that it holds.',
  method: 'POST',
  paths: ['/v1/unclear-opt-outs/:id'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 404: 'The account has no unclear opt-out with this id' },
  request: fields({
    id: z.string().max(64, 'must not be longer than 64 characters'),
    action: z.enum(['confirm', 'dismiss'], 'is required and must be confirm or dismiss'),
    number: optionalText(64).describe('Number of the person; not needed if it is known'),
    reason: optionalText(200),
  }),
  response: recorded,
})
