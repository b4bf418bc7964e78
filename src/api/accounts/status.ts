/** What the server itself says of its state: settings in force, readiness, background jobs, other servers. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.js'
import { fields } from '../fields.js'
import { instant } from '../gate/decision-body.js'

const statusResponse = z.object({
  version: z.string(),
  host: z.string(),
  ready: z.boolean(),
  readiness: z
    .array(
      z.object({
        name: z.string(),
        ready: z.boolean(),
        detail: z.string().nullable().describe('What is missing, or what the answer depends on'),
        fix: z
          .string()
          .nullable()
          .describe('What to do about it, as `callgate doctor` says; null if nothing is wrong'),
        since: instant.describe('When this server first saw it so, at a request for its readiness'),
      }),
    )
    .readonly(),
  settings: z
    .array(
      z.object({
        name: z.string(),
        value: z
          .string()
          .describe('As JSON, shortened; `(hidden)` for a secret, `unset` without a value'),
        origin: z
          .enum(['variable', 'file', 'default'])
          .describe('`default` also if the file or the variable says the same'),
        variable: z.string(),
      }),
    )
    .readonly(),
  jobs: z
    .array(
      z.object({
        name: z.string(),
        isRunning: z.boolean(),
        lastEndedAt: instant.nullable().describe('Null before its first run on this server'),
        hasFailed: z
          .boolean()
          .nullable()
          .describe('Whether the last run failed; it is tried again'),
      }),
    )
    .describe('Of this server')
    .readonly(),
  database: z.object({
    engine: z.enum(['sqlite', 'postgres']),
    isLeader: z.boolean().nullable().describe('Whether it does the work that one server must do'),
    changesKnownUntil: instant
      .nullable()
      .describe('What any server had stored until then is known here; null with SQLite'),
    problem: z.string().nullable().describe('Why the latest look failed'),
  }),
  servers: z
    .array(
      z.object({
        journal: z.string().describe('As `callgate decisions list` shows it'),
        account: z.string().nullable().describe('Of an edge; null for a server'),
        lastSeenAt: instant,
        copiedRecords: z.int(),
        copiedUntil: instant
          .nullable()
          .describe('No earlier decision of this server is missing; null while none are copied'),
      }),
    )
    .describe('Whose decisions are in the PostgreSQL database; none with SQLite')
    .readonly(),
})

export type StatusBody = z.output<typeof statusResponse>

export const statusEndpoint = defineEndpoint({
  name: 'status',
  summary:
    'The state of this server: readiness with its reasons, settings in force with their origin and without secrets, background jobs, ' +
    'and over PostgreSQL the other servers. Needs a key of account main with role Administrator and without a limit to projects.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/status'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request: fields({}),
  response: statusResponse,
  otherStatuses: { 403: 'Not the key of an Administrator of account main' },
  errors: 'problem',
})
