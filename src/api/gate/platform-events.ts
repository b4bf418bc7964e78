/** What the proxy of a voice platform reports: the calls that it passes on, and what the platform says of them. */
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
  decisionId: reference(64).describe('That allowed it'),
  number: reference(64).describe('Of the person called'),
  callIds: z
    .array(reference(300), 'must be a list of texts')
    .max(maxCallIds, `must have at most ${maxCallIds} entries`)
    .default([])
    .describe('What the platform calls it; empty while it has not answered'),
  fetchedAt: instant
    .optional()
    .describe('When the platform was asked what was said in it, whatever it answered'),
})

export const platformCallsEndpoint = defineEndpoint({
  ...common,
  name: 'platform-calls',
  summary:
    'Notes calls that a proxy passes on to a voice platform: before it does, and again with the ids that the platform gave them. ' +
    'What was heard in a call that nobody knew then is joined to it. May be sent again.',
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
    'The calls of which no words have come, ten minutes after their end or two hours after they were allowed: at most 100, those that have ended first. ' +
    'The proxy asks the platform for them, sends what it answers as an event, and notes with `fetchedAt` that it has asked.',
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
  body: z.string('must be text').describe('As it came'),
  query: z
    .string('must be text')
    .default('')
    .describe('Of the address that it was sent to, without the question mark'),
  delivery: z
    .enum(['fetched', 'late'], 'must be fetched, late or absent')
    .optional()
    .describe(
      'fetched: the platform answered it when it was asked. late: its signature is older than five minutes, so it may end calls, but ' +
        'not report one as unanswered',
    ),
})

export const platformEventEndpoint = defineEndpoint({
  ...common,
  name: 'platform-event',
  summary:
    'Stores an event of a voice platform, whose signature the proxy has checked, and then reads it: what became of the call, and ' +
    'whether the person asked not to be called again. The answer comes when it is on disk, whatever is in it.',
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
    'Notes how many events the proxy has refused for their signature, and whether it can ask the platform about calls.',
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
      .describe('Since the last report'),
    canFetch: z
      .boolean('must be true or false')
      .optional()
      .describe('Whether it has a key to read calls of the platform with'),
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
        'words: what the person said may be an opt-out. speaker: nothing says whose words they are. summary: they are about the call. ' +
          'own-number: the person’s number would be one of ours. unjoined: the person asked not to be called, and nobody knows in which call',
      ),
    heardAt: z.string(),
    number: z.string().nullable().describe('Of the person, if it is known'),
    decisionId: z.string().nullable(),
    said: z.string().nullable(),
    heldNumbers: z
      .int()
      .describe(
        'To so many numbers no call is allowed until it is joined to its call, confirmed or dismissed',
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
      .describe('Whether the proxy can ask it about calls; null if no proxy has said so'),
    placed: z.int().describe('Calls that were allowed in the last 24 hours'),
    answered: z.int(),
    heard: z.int().describe('Of the answered ones those of which words of the person came'),
    optedOut: z.int(),
    problem: z.string().nullable().describe('Why opt-outs are probably lost'),
  })
  .meta({ id: 'PlatformFigures' })

export const listUnclearOptOutsEndpoint = defineEndpoint({
  ...common,
  name: 'unclear-opt-outs',
  summary:
    'What may be an opt-out and is in force only when a person confirms it, the oldest 200; and how well each platform of the last ' +
    '24 hours is heard.',
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
    'Confirms that it is an opt-out, which is in force for the number then, or dismisses it. Either ends what it holds.',
  method: 'POST',
  paths: ['/v1/unclear-opt-outs/:id'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 404: 'The account has none of this id that is to be cleared up' },
  request: fields({
    id: z.string().max(64, 'must not be longer than 64 characters'),
    action: z.enum(['confirm', 'dismiss'], 'is required and must be confirm or dismiss'),
    number: optionalText(64).describe('Of the person; may be absent where it is known'),
    reason: optionalText(200),
  }),
  response: recorded,
})
