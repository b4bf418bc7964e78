/** The endpoint that says how the server is doing now. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.js'
import { fields } from '../fields.js'
import { instant as instantText } from '../gate/decision-body.js'

export const liveStepSeconds = 5

const step = z.object({
  at: instantText.describe('Its end'),
  allowed: z.int().describe('Decisions, without what-ifs'),
  blocked: z.int(),
  p50Ms: z
    .number()
    .nullable()
    .describe(
      'Half of the decisions took no longer, from request to recorded decision, estimated from the histogram',
    ),
  p99Ms: z.number().nullable(),
})

const body = z.object({
  checks: z
    .array(
      z.object({
        name: z.string(),
        ready: z.boolean(),
        detail: z.string().optional().describe('What is missing, or what the answer depends on'),
        since: instantText.describe('About; not before this server began'),
      }),
    )
    .readonly(),
  ungatedLegs: z.int().describe('Legs without a valid permit since the server began'),
  openCircuits: z
    .array(z.object({ source: z.string(), question: z.string() }))
    .readonly()
    .describe('Providers that are not asked now, since they do not answer'),
  steps: z
    .array(step)
    .readonly()
    .describe(`The last 15 minutes in steps of ${liveStepSeconds} seconds, oldest first`),
})

export type LiveBody = z.output<typeof body>
export type LiveStep = z.output<typeof step>

export const liveEndpoint = defineEndpoint<Record<string, never>, LiveBody>({
  name: 'live',
  summary:
    'How this server is doing: its checks of readiness, and the decisions of all accounts in the last 15 minutes. Only with a ' +
    'key of account main with role Administrator and no limit to projects.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/live'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['manage'],
  // Of all accounts.
  scopes: 'none',
  request: fields({}) as z.ZodType<Record<string, never>>,
  response: body,
  errors: 'problem',
})
