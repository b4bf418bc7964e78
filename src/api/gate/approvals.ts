/** The endpoints by which a person approves the calls of a key that needs it. */
import { z } from 'zod'
import { callKinds } from '../../domain/decision.js'
import { approvalStates, callPurposes, maxNoteLength } from '../../domain/mandate.js'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalText } from '../fields.js'
import { callKindMeta, instant } from './decision-body.js'

const approvalState = z
  .enum(approvalStates, `must be one of ${approvalStates.join(', ')}`)
  .meta({ id: 'ApprovalState' })

/** What an approval, and the event that asks for it, say of the call. */
export const approvalRequest = {
  id: z.string(),
  keyId: z.string().describe('The key that asks for the call'),
  subject: z
    .object({
      number: z.string(),
      callKind: z.enum(callKinds).meta(callKindMeta),
      projectId: z.string().optional(),
      campaignId: z.string().optional(),
      callerId: z.string().optional(),
      purpose: z.enum(callPurposes).optional().describe('Telemarketing if absent'),
      subject: z.string().optional(),
      personId: z.string().optional(),
    })
    .meta({ id: 'ApprovalSubject', description: 'Exactly the call that is approved' }),
  subjectHash: z.string().describe('Of the subject; to be sent with the verdict'),
  expiresAt: instant.describe('From then on it can be neither approved nor used'),
}

const approvalSchema = z
  .object({
    ...approvalRequest,
    state: approvalState,
    requestedAt: instant,
    decidedBy: z.string().optional().describe('The key, or the user at the command line'),
    decidedAt: instant.optional(),
    note: z.string().optional(),
    decisionId: z.string().optional().describe('The decision that used it'),
  })
  .meta({ id: 'Approval' })
export type ApprovalBody = z.output<typeof approvalSchema>

const common = {
  spec: 'none; callgate only',
  keyAlsoIn: [],
  rights: ['manage'],
  scopes: 'none',
  errors: 'problem',
} as const

export const listApprovalsEndpoint = defineEndpoint({
  ...common,
  name: 'approvals',
  summary: 'The calls of the account’s keys that wait for a person, or waited; the newest 100.',
  method: 'GET',
  paths: ['/v1/approvals'],
  accepts: ['query'],
  request: fields({ state: approvalState.optional() }),
  response: z.object({ approvals: z.array(approvalSchema).readonly() }),
})

const verdictRule = 'is required and must be approve or refuse'

export const decideApprovalEndpoint = defineEndpoint({
  ...common,
  name: 'approval-verdict',
  summary:
    'Approves or refuses one call. The caller needs role Supervisor or Administrator, and must be a second person: not the one behind ' +
    'the key that asked, not a program, and able to approve for a day before it was asked for (docs/two-people.md). The ' +
    'call can be asked for within ten minutes then, once; everything else is judged at that time.',
  method: 'POST',
  paths: ['/v1/approvals/:id'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  otherStatuses: {
    404: 'The account has no such approval',
    409: 'It is not waiting, or the subject is not the one that was shown',
  },
  request: fields({
    id: z.string().max(64, 'must not be longer than 64 characters'),
    verdict: z.enum(['approve', 'refuse'], verdictRule),
    subjectHash: z.string('is required and must be text').max(64),
    note: optionalText(maxNoteLength),
  }),
  response: approvalSchema,
})
