/** Permits of single calls for SIP edges. `http/decision-routes.ts` handles the one that decides. */
import { z } from 'zod'
import { type CallKind, callKinds, type Decision, type ReasonCode } from '../../domain/decision.js'
import { isPossibleNumber, type PhoneNumber, parseDialString } from '../../domain/phone-number.js'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalText } from '../fields.js'
import { decisionSchema } from './decision-body.js'
import {
  approvalId,
  callFields,
  type DecisionRequest,
  decisionAccess,
  numberFields,
  permitFormats,
} from './decisions.js'

/** Of an INVITE that has a permit. */
export const permitHeader = 'X-Callgate-Permit'

/** States of a permit; only the first one can still be used. */
const permitStates = ['issued', 'used', 'released', 'expired', 'void'] as const

/** A number of the North American plan as people write it, in ten digits. */
const nanpNumber = z
  .string('is required and must be text')
  .transform((text, context): PhoneNumber => {
    const dialed = parseDialString(text)
    if (dialed.kind === 'nanp' && isPossibleNumber(dialed.number)) return dialed.number
    context.addIssue('must be a number of the North American plan, such as 2125550199')
    return z.NEVER
  })

const edge = optionalText(63)

/** A decision is asked for now, so without `at`. */
const { at: _, ...factFields } = callFields

const permitRequest = fields({
  ...numberFields,
  ...factFields,
  callerId: nanpNumber,
  approvalId,
  edge,
  format: z.enum(permitFormats, `must be one of ${permitFormats.join(', ')}`).default('passport'),
}).transform(
  ({ edge, format, ...call }): DecisionRequest => ({
    ...call,
    at: undefined,
    permit: { callerId: call.callerId, edge, format },
  }),
)

const shared = {
  spec: 'the gate',
  keyAlsoIn: [],
  rights: ['decide'],
  errors: 'problem',
} as const

const noPermits = 'No edge is set in permits.edges; or the account has no such permit'
const notAvailable = 'It cannot be found out now whether the call may be placed: do not dial'

export const permitEndpoint = defineEndpoint({
  ...shared,
  name: 'permit',
  summary:
    'Decides like POST /v1/decisions, and gives a permit with an allow: a signed proof that a SIP edge ' +
    'can check. Emergency and service codes are allowed without one.',
  method: 'POST',
  paths: ['/v1/permits'],
  accepts: ['json'],
  maxBodyBytes: maxSmallBodyBytes,
  ...decisionAccess,
  request: permitRequest,
  response: decisionSchema.extend({
    permit: z
      .object({
        id: z.string(),
        edge: z.string(),
        format: z.enum(permitFormats),
        header: z.literal(permitHeader).describe('The header of the INVITE that it belongs into'),
        value: z.string().describe('To be sent unchanged'),
        expiresAt: z.string(),
      })
      .optional()
      .describe('With an allow only; absent for emergency and service codes'),
  }),
  otherStatuses: { 404: noPermits },
})

/** A permit that a decision is asked for with. */
export interface PendingPermit {
  /** Stores the permit for an allow. Resolves to why there can be none; then the call must be blocked. */
  record(allow: Decision): Promise<ReasonCode | undefined>
  /** Voids the permit if the final decision is a block. */
  left(final: Decision): void
  /** The permit to return with the allow, as JSON. Empty if there is none, as for emergency calls. */
  readonly json: string
}

/** What an edge knows of the call that it wants to place. */
const useFields = {
  number: nanpNumber.describe('The number that is dialed'),
  callerId: nanpNumber.describe('The caller id that is shown'),
  edge: edge.describe('Name of the edge, if it should be checked'),
}

export interface PermitUse {
  readonly number: PhoneNumber
  readonly callerId: PhoneNumber
  readonly edge?: string | undefined
}

export interface PermitDocument {
  readonly id: string
  readonly state: (typeof permitStates)[number]
  readonly edge: string
  readonly number: string
  readonly callerId: string
  readonly callKind: CallKind
  readonly decisionId: string
  /** Id of the API key that asked for it. */
  readonly keyId: string
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  /** Instants are ISO 8601 in UTC. */
  readonly issuedAt: string
  readonly expiresAt: string
  readonly endedAt?: string | undefined
}

const permitDocument: z.ZodType<PermitDocument> = z.object({
  id: z.string(),
  state: z.enum(permitStates),
  edge: z.string(),
  number: z.string(),
  callerId: z.string(),
  callKind: z.enum(callKinds),
  decisionId: z.string(),
  keyId: z.string().describe('Id of the API key that asked for it'),
  projectId: z.string().optional(),
  campaignId: z.string().optional(),
  issuedAt: z.string(),
  expiresAt: z.string(),
  endedAt: z.string().optional().describe('When it was used, released or made void'),
})

const id = z.string().max(64, 'must not be longer than 64 characters')

const useShared = {
  ...shared,
  method: 'POST',
  accepts: ['json', 'form'],
  maxBodyBytes: maxSmallBodyBytes,
  // The handler checks the key's limits after it has found the permit.
  scopes: 'none',
  response: permitDocument,
} as const

const useStatuses = {
  404: noPermits,
  409: 'Used before, released, expired, void, or given for another call: do not dial',
  503: notAvailable,
}

export const usePermitEndpoint = defineEndpoint({
  ...useShared,
  name: 'permit-use',
  summary: 'Uses a permit, once: dial only after a 200. Judges the call again as it is now.',
  paths: ['/v1/permits/use'],
  request: fields({
    value: z
      .string('is required and must be text')
      .max(2_048, 'must not be longer than 2048 characters'),
    ...useFields,
  }),
  otherStatuses: useStatuses,
})

export const usePermitByIdEndpoint = defineEndpoint({
  ...useShared,
  name: 'permit-use-by-id',
  summary: 'The same for an edge that has checked the signature and knows the id.',
  paths: ['/v1/permits/:id/use'],
  request: fields({ id, ...useFields }),
  otherStatuses: useStatuses,
})

export const releasePermitEndpoint = defineEndpoint({
  ...useShared,
  name: 'permit-release',
  summary:
    'Gives back a permit that was not used. An edge that does not ask callgate still takes it.',
  paths: ['/v1/permits/:id/release'],
  request: fields({ id }),
  otherStatuses: { 404: noPermits, 409: 'Used before, expired or void' },
})

export const readPermitEndpoint = defineEndpoint({
  ...shared,
  name: 'permit-read',
  summary: 'A permit of the account, for 30 days after it has expired.',
  method: 'GET',
  paths: ['/v1/permits/:id'],
  accepts: ['query'],
  scopes: 'none',
  request: fields({ id }),
  response: permitDocument,
  otherStatuses: { 404: noPermits },
})
