/** The endpoint of the figures of the last 15 minutes. */
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
  ungatedLegs: z.int().describe('Legs without a valid permit since the server began'),
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
    'The decisions of all accounts on this server in the last 15 minutes: how many, and how long they took. The key needs account ' +
    'main, role Administrator and no limit to projects.',
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
