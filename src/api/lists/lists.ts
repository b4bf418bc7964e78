/** The imported data with its age and kept versions, and the way back to an earlier version of a list. */
import { z } from 'zod'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalText } from '../fields.js'
import { instant } from '../gate/decision-body.js'

const states = [
  ...['fresh', 'soon-stale', 'stale', 'damaged', 'not-in-force', 'unread', 'in-use'],
] as const

const data = z
  .object({
    name: z
      .string()
      .describe('Of a list of another account than main with that in front: `acme/us-dnc`'),
    entries: z.int().nullable(),
    asOf: instant.nullable(),
    ageDays: z.int().nullable().describe('Whole days since then'),
    importedAt: instant.nullable(),
    version: z.string().nullable(),
    state: z
      .enum(states)
      .describe(
        '`not-in-force`: another version is; `unread`: no check uses it; `in-use`: it has no maximum age',
      ),
    maxAgeDays: z.number().nullable().describe('By law or by the settings; null without a limit'),
    usableUntil: instant.nullable(),
    problem: z.string().nullable().describe('Why it cannot be used'),
    inForce: z
      .string()
      .nullable()
      .describe('The version in force on all servers, if they share it'),
  })
  .meta({ id: 'ImportedData' })

const listVersion = z
  .object({
    version: z.string(),
    entries: z.int(),
    asOf: instant,
    importedAt: instant,
    feed: z.string().describe('Of `callgate import`'),
    importedBy: z
      .string()
      .nullable()
      .describe('As in the audit table; null if that has no row about it'),
    inUse: z.boolean(),
  })
  .meta({ id: 'ListVersion' })

const listsResponse = z.object({
  lists: z
    .array(
      data.extend({
        versions: z
          .array(listVersion)
          .nullable()
          .describe('The one in use first; null for a list of another account')
          .readonly(),
      }),
    )
    .readonly(),
  numbering: z.array(data).readonly(),
  facts: z.array(data).readonly(),
  missing: z
    .array(z.string())
    .describe('Lists without which calls of the account are blocked')
    .readonly(),
})

export type ListsBody = z.output<typeof listsResponse>
export type ListBody = ListsBody['lists'][number]

export const listsEndpoint = defineEndpoint({
  name: 'lists',
  summary:
    'The lists that the account has or may use, prefixes, and facts about numbers, with age and state. A key of account main with role ' +
    'Administrator and without a limit to projects sees the lists of all accounts. Only the start and end of each file are read.',
  spec: 'none; callgate only',
  method: 'GET',
  paths: ['/v1/lists'],
  accepts: ['query'],
  usesServiceThread: 'always',
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: 'none',
  request: fields({}),
  response: listsResponse,
  errors: 'problem',
})

const maxReasonLength = 500
const reasonRule = `is required and must have at most ${maxReasonLength} characters`

const rollbackRequest = fields({
  name: z.string().describe('As `GET /v1/lists` has it; the account and the list with %2F between'),
  version: optionalText(40).describe('A kept version; the one before the current if absent'),
  reason: z
    .string(reasonRule)
    .trim()
    .min(1, reasonRule)
    .max(maxReasonLength, reasonRule)
    .describe('Why, for the audit table'),
})

const rollbackResponse = z.object({
  name: z.string(),
  version: z.string().describe('In use from now on; this server takes it over within seconds'),
  entries: z.int(),
  asOf: instant,
  replaced: z.string().nullable().describe('The version that was in use, which is kept'),
})

export type RollbackRequest = z.output<typeof rollbackRequest>
export type RollbackBody = z.output<typeof rollbackResponse>

export const rollbackEndpoint = defineEndpoint<RollbackRequest, RollbackBody>({
  name: 'list-rollback',
  summary:
    'Goes back to a kept version of a list, which is read and checked completely first; the replaced version is kept. Over PostgreSQL it ' +
    'is in force on all servers. Needs a key of account main with role Administrator and without a limit to projects.',
  spec: 'none; callgate only',
  method: 'POST',
  paths: ['/v1/lists/:name/rollback'],
  accepts: ['json'],
  usesServiceThread: 'always',
  maxBodyBytes: maxSmallBodyBytes,
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  request: rollbackRequest,
  response: rollbackResponse,
  otherStatuses: {
    404: 'There is no such list',
    409: 'The version is not kept, is in use already or is damaged, or the list is being imported',
  },
  errors: 'problem',
})
