/**
 * Authentication in the API: access tokens for API keys (spec, "Authentication"; RFC 6749, section
 * 4.4), and the validation of a key, project and campaign (spec, "Authentication check").
 */
import { z } from 'zod'
import type { TokenRequest, TokenResponse } from '../../domain/caller.js'
import { type Role, roles } from '../../domain/caller.js'
import { callKinds, type TokenGrant } from '../../domain/mandate.js'
import { defineEndpoint, maxSmallBodyBytes } from '../endpoint.js'
import { fields, optionalId } from '../fields.js'

const requiredText = z.string('is required').min(1, 'is required and must not be empty')

const grantRule =
  'must be a JSON list with one object of type callgate_dial, with any of kinds, campaigns, callerIds, regions, attempts'

/** Rich authorization requests (RFC 9396), for a token that permits less than its key. */
const dialGrant = z.strictObject({
  type: z.literal('callgate_dial'),
  kinds: z.array(z.enum(callKinds)).min(1).optional(),
  campaigns: z.array(z.int().positive()).min(1).max(100).optional(),
  callerIds: z
    .array(z.string().regex(/^\d{10}$/))
    .min(1)
    .max(100)
    .optional(),
  regions: z
    .array(z.string().regex(/^[A-Z]{2}$/))
    .min(1)
    .max(100)
    .optional(),
  attempts: z.int().positive().max(1_000_000).optional(),
})

const grantDetails = z
  .string(grantRule)
  .transform((text, context): TokenGrant => {
    const read = z.tuple([dialGrant]).safeParse(parseJson(text))
    if (!read.success) {
      context.addIssue(grantRule)
      return z.NEVER
    }
    const [{ type: _, ...grant }] = read.data
    return grant
  })
  .describe(
    'Limits the token further than its key: a JSON list with one object of type `callgate_dial` and any of ' +
      '`kinds`, `campaigns`, `callerIds` (ten digits), `regions`, and `attempts`, the calls in all. The token then has role Agent and ' +
      'at most the rights `decide` and `records`',
  )

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Names and values are case sensitive, and other fields, including `scope`, are ignored (RFC 6749,
 * section 3.2): there are no scopes to choose from. What a token may be limited to is in `authorization_details`; without it, it
 * has the rights of its key.
 */
const tokenRequest = z
  .object({
    grant_type: requiredText.describe('`client_credentials`'),
    client_id: requiredText.describe('The account’s id'),
    client_secret: requiredText.describe('An API key of that account'),
    authorization_details: grantDetails.optional(),
  })
  .transform(
    (wire): TokenRequest => ({
      grant: wire.authorization_details,
      grantType: wire.grant_type,
      clientId: wire.client_id,
      clientSecret: wire.client_secret,
    }),
  )

const tokenResponse = z
  .object({
    token_type: z.literal('Bearer'),
    expires_in: z.int().positive().describe('Seconds from now'),
    access_token: z.string().describe('Send it as `Authorization: Bearer`'),
    authorization_details: z
      .array(dialGrant)
      .optional()
      .describe('What the token is limited to, if the request said so'),
  })
  .transform(
    (wire): TokenResponse => ({ token: wire.access_token, expiresInSeconds: wire.expires_in }),
  )

/** Accepts a form; the client id and secret may also be sent as `Authorization: Basic`. */
export const tokenEndpoint = defineEndpoint<TokenRequest, TokenResponse>({
  name: 'token',
  summary: 'Returns an access token for an API key, valid for an hour.',
  spec: 'Authentication',
  method: 'POST',
  // The spec mentions two paths, so both are served.
  paths: ['/oauth/token', '/v1.5/oauth/token'],
  accepts: ['form', 'multipart'],
  maxBodyBytes: maxSmallBodyBytes,
  access: 'open',
  keyAlsoIn: [],
  rights: [],
  scopes: 'none',
  request: tokenRequest,
  response: tokenResponse,
  errors: 'oauth',
  encode: ({ token, expiresInSeconds, grant }) => ({
    json: {
      token_type: 'Bearer',
      expires_in: expiresInSeconds,
      access_token: token,
      ...(grant && { authorization_details: [{ type: 'callgate_dial', ...grant }] }),
    },
    headers: { Pragma: 'no-cache' },
  }),
})

export interface AccessCheckRequest {
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  /** The field name that the client used for the project. */
  readonly projectField: 'projectId' | 'projId'
}

/** The result for a valid key; anything invalid is an error. */
export interface AccessCheckResult {
  readonly accountId: string
  readonly role: Role
}

const accessRequest = fields({
  campaignId: optionalId.describe('A campaign that must belong to the account and the project'),
  projectId: optionalId.describe('A project that must belong to the account'),
  projId: optionalId.describe('Another name of projectId'),
}).transform(({ campaignId, projectId, projId }, context): AccessCheckRequest => {
  if (projectId !== undefined && projId !== undefined && projectId !== projId) {
    const message = 'must not differ from projectId; send only one of the two'
    context.addIssue({ code: 'custom', path: ['projId'], message, input: projId })
  }
  const projectField = projectId === undefined ? 'projId' : 'projectId'
  return { projectId: projectId ?? projId, campaignId, projectField }
})

/** Returns the account of the key; a project or campaign of another account gives status 400. */
export const accessCheckEndpoint = defineEndpoint<AccessCheckRequest, AccessCheckResult>({
  name: 'auth-validate',
  summary: 'Whether the key is valid, and the project and campaign if given.',
  spec: 'Authentication check',
  method: 'GET',
  paths: ['/v1.5/Auth/Validate'],
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: [],
  // Without either, only the key is validated.
  scopes: ({ projectId, campaignId }) =>
    projectId === undefined && campaignId === undefined ? [] : [{ projectId, campaignId }],
  request: accessRequest,
  response: z
    .object({
      AcctId: z.string().describe('The account of the key'),
      IsValid: z.literal(true),
      Role: z.enum(roles),
    })
    .transform((wire) => ({ accountId: wire.AcctId, role: wire.Role })),
  errors: 'problem',
  encode: ({ accountId, role }) => ({ json: { AcctId: accountId, IsValid: true, Role: role } }),
})
