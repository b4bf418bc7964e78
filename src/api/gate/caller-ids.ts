/** The endpoints of the register of own numbers, which the calls of an account may show. */
import { z } from 'zod'
import { attestations, type CallerIdInput } from '../../domain/mandate.js'
import { defineEndpoint, maxSmallBodyBytes, singleScope } from '../endpoint.js'
import { eachItem, fields, instant, optionalId, optionalText } from '../fields.js'
import { instant as instantText } from './decision-body.js'

/** More are imported at the command line. */
export const maxCallerIds = 100
const maxTextLength = 200

const reason = optionalText(maxTextLength).describe('Why; kept in the audit')
const text = z
  .string('must be text')
  .max(maxTextLength, `must not be longer than ${maxTextLength} characters`)
const number = z
  .string('must be text')
  .max(40, 'must not be longer than 40 characters')
  .describe('Ten digits, or any other form of a number that may be dialed')
const projectId = optionalId.describe('Only calls of this project may show it')

const callerId: z.ZodType<CallerIdInput> = fields({
  number,
  projectId,
  owner: text.describe('To whom the number was given'),
  proof: text.describe('What proves it, such as a contract or an invoice'),
  carrier: optionalText(maxTextLength).describe('That signs the calls'),
  attestation: z
    .enum(attestations, 'must be A, B or C')
    .optional()
    .describe('What the carrier is expected to sign'),
  from: instant.optional().describe('From when calls may show it'),
  until: instant.optional().describe('Until when calls may show it'),
  callbackTestedAt: instant
    .optional()
    .describe('When somebody called it back, and was answered as the person called would be'),
  presence: optionalText(maxTextLength).describe(
    'What proves that the account is where the number is, such as the address of an office',
  ),
})

const entry = z
  .object({
    number: z.string(),
    projectId: z.string().optional(),
    owner: z.string(),
    proof: z.string(),
    carrier: z.string().optional(),
    attestation: z.enum(attestations).optional(),
    from: instantText.optional(),
    until: instantText.optional(),
    callbackTestedAt: instantText.optional(),
    presence: z.string().optional(),
    addedAt: instantText,
    addedBy: z.string().describe('A key, or a user at the command line'),
    endedAt: instantText
      .optional()
      .describe('When no call may show it any more, or it was replaced'),
    endedBy: z.string().optional(),
  })
  .meta({ id: 'CallerIdEntry' })
export type CallerIdBody = z.output<typeof entry>

const common = {
  spec: 'none; callgate only',
  keyAlsoIn: [],
  rights: ['manage'],
  errors: 'problem',
} as const

export const listCallerIdsEndpoint = defineEndpoint({
  ...common,
  name: 'caller-ids',
  summary:
    'The own numbers of the account that are in force, for the projects of the key, by number; with `ended=true` also what ' +
    'has ended or was replaced.',
  method: 'GET',
  paths: ['/v1/caller-ids'],
  accepts: ['query'],
  // Those of other projects are left out.
  scopes: 'none',
  request: fields({
    ended: z
      .enum(['true', 'false'], 'must be true or false')
      .default('false')
      .transform((word) => word === 'true')
      .describe('Also those that have ended'),
  }),
  response: z.object({ callerIds: z.array(entry).readonly() }),
})

const list = z
  .array(z.unknown(), 'must be a list of own numbers')
  .min(1, 'must have at least 1 number')
  .max(maxCallerIds, `must have at most ${maxCallerIds} numbers`)

export const addCallerIdsEndpoint = defineEndpoint({
  ...common,
  name: 'caller-id-add',
  summary:
    'Adds own numbers or replaces what is said of them, all or none. Once there is one, calls may show no others. Nothing is ' +
    'deleted: what is replaced ends, and is kept as evidence. In force within a second.',
  method: 'POST',
  paths: ['/v1/caller-ids'],
  accepts: ['json'],
  // A number for all projects needs a key for all of them, besides.
  scopes: ({ callerIds }) => callerIds,
  maxBodyBytes: 131_072,
  request: fields({ callerIds: eachItem(list, callerId), reason }),
  response: z.object({ added: z.int() }),
})

export const endCallerIdEndpoint = defineEndpoint({
  ...common,
  name: 'caller-id-end',
  summary: 'Lets no call show a number any longer, within a second. What is known of it is kept.',
  method: 'POST',
  paths: ['/v1/caller-ids/end'],
  accepts: ['json'],
  scopes: singleScope,
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: { 404: 'The number is not in force for the project' },
  request: fields({ number, projectId, reason }),
  response: z.object({ ended: z.literal(true) }),
})
