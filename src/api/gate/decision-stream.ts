/** The endpoint that streams decisions as they are recorded, as server-sent events. */
import { z } from 'zod'
import { reasonCodes } from '../../domain/checks.js'
import { callKinds } from '../../domain/decision.js'
import { defineEndpoint, type StreamedReply } from '../endpoint.js'
import { fields, optionalId } from '../fields.js'
import { oneOf } from './decision-search.js'

/** The most decisions that a reader gets in a second; the others are only counted. */
export const maxToldDecisions = 20

const maxSeconds = 3_600

const request = fields({
  decision: oneOf(['allow', 'block']),
  reason: oneOf(reasonCodes),
  kind: oneOf(callKinds),
  project: optionalId.describe('Code of a project'),
  after: z
    .string()
    .regex(/^[0-9a-z]{9}[0-9a-f]{20}$/, 'must be the id of a decision')
    .optional()
    .describe(
      'Id of the last decision the reader knows, of the last 15 minutes. Header Last-Event-ID says the same and comes first.',
    ),
  seconds: z
    .string()
    .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${maxSeconds}`)
    .transform(Number)
    .refine((count) => count >= 1 && count <= maxSeconds, {
      error: `must be a whole number from 1 to ${maxSeconds}`,
    })
    .optional()
    .describe('Ends after so many; absent means not by itself'),
})

export type DecisionStreamRequest = z.output<typeof request>

export interface DecisionStreamBody {
  /** Of server-sent events. */
  readonly parts: AsyncIterable<string>
}

export const streamDecisionsEndpoint = defineEndpoint<DecisionStreamRequest, DecisionStreamBody>({
  name: 'decisions-stream',
  summary:
    'The decisions of the account while they are recorded, only those that the key may ask for, as server-sent events: ' +
    `\`decision\` with the most important members of up to ${maxToldDecisions} a second, \`skipped\` with how many more there were. ` +
    'A comment every 15 seconds; ids, so that a reader that comes again goes on where it was. Ends with the key, when the ' +
    'server stops, after ten minutes, and if it is not read.',
  spec: 'the gate',
  method: 'GET',
  paths: ['/v1/decisions/stream'],
  accepts: ['query'],
  usesServiceThread: 'always',
  isEndless: true,
  keyAlsoIn: [],
  rights: ['decide'],
  // Without a project, it streams the decisions of all projects that the key may use.
  scopes: ({ project }) => (project === undefined ? [] : [{ projectId: project }]),
  callKind: ({ kind }) => kind,
  request,
  response: z.custom<DecisionStreamBody>(),
  replyTypes: ['text/event-stream'],
  otherStatuses: {
    429: 'There are 20 readers of the server, 10 of the account or 5 of the key already',
  },
  errors: 'problem',
  encode: ({ parts }): StreamedReply => ({
    parts,
    contentType: 'text/event-stream',
    headers: { 'X-Accel-Buffering': 'no' },
    trailerNames: [],
    trailers: () => ({}),
  }),
})
