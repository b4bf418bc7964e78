/**
 * Who may ask, on the wire: access tokens for API keys (spec, "Authentication"; RFC 6749, section
 * 4.4), and whether a key, a project and a campaign hold (spec, "Authentication check").
 */
import { z } from 'zod'
import type { AccessGrant, TokenRequest } from '../domain/access-grant.js'
import { type Role, roles } from '../domain/caller.js'
import { endpoint, smallBodyBytes } from './endpoint.js'
import { fields, optionalId } from './fields.js'

const required = z.string('is required').min(1, 'is required and must not be empty')

/**
 * Names and values count as they are, and other fields, `scope` among them, are passed over (RFC
 * 6749, section 3.2): a token may do what its key may, so there are no scopes to choose from.
 */
const tokenRequest = z
  .object({
    grant_type: required.describe('`client_credentials`'),
    client_id: required.describe('The account’s id'),
    client_secret: required.describe('An API key of that account'),
  })
  .transform(
    (wire): TokenRequest => ({
      grantType: wire.grant_type,
      clientId: wire.client_id,
      clientSecret: wire.client_secret,
    }),
  )

const tokenResponse = z
  .object({
    token_type: z.literal('Bearer'),
    expires_in: z.int().positive().describe('Seconds from now'),
    access_token: z.string().describe('To be sent as `Authorization: Bearer`'),
  })
  .transform(
    (wire): AccessGrant => ({ token: wire.access_token, expiresInSeconds: wire.expires_in }),
  )

/** Takes a form, and the client as `Authorization: Basic` in place of its two fields. */
export const grantToken = endpoint<TokenRequest, AccessGrant>({
  name: 'token',
  summary: 'Gives an access token for an API key, good for an hour.',
  spec: 'Authentication',
  method: 'POST',
  // The path is not shown with certainty, so both named are served.
  paths: ['/oauth/token', '/v1.5/oauth/token'],
  accepts: ['form', 'multipart'],
  maxBodyBytes: smallBodyBytes,
  access: 'open',
  keyAlsoIn: [],
  rights: [],
  scopes: 'none',
  request: tokenRequest,
  response: tokenResponse,
  errors: 'oauth',
  encode: ({ token, expiresInSeconds }) => ({
    json: { token_type: 'Bearer', expires_in: expiresInSeconds, access_token: token },
    headers: { Pragma: 'no-cache' },
  }),
})

export interface AccessQuestion {
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  /** The name under which the project was given. */
  readonly projectField: 'projectId' | 'projId'
}

/** What holds; what does not is a refusal. */
export interface AccessFacts {
  readonly accountId: string
  readonly role: Role
}

const accessRequest = fields({
  campaignId: optionalId.describe('A campaign that must be of the account, and of the project'),
  projectId: optionalId.describe('A project that must be of the account'),
  projId: optionalId.describe('Another name of projectId'),
}).transform(({ campaignId, projectId, projId }, context): AccessQuestion => {
  if (projectId !== undefined && projId !== undefined && projectId !== projId) {
    const message = 'must not differ from projectId; one of the two is enough'
    context.addIssue({ code: 'custom', path: ['projId'], message, input: projId })
  }
  const projectField = projectId === undefined ? 'projId' : 'projectId'
  return { projectId: projectId ?? projId, campaignId, projectField }
})

/** Success says whose the key is; a project or campaign that is not the account's is 400. */
export const validateAccess = endpoint<AccessQuestion, AccessFacts>({
  name: 'auth-validate',
  summary: 'Whether the key holds, and a project and campaign with it.',
  spec: 'Authentication check',
  method: 'GET',
  paths: ['/v1.5/Auth/Validate'],
  accepts: ['query'],
  keyAlsoIn: ['query'],
  rights: [],
  // Asked without either, the call is about the key alone.
  scopes: ({ projectId, campaignId }) =>
    projectId === undefined && campaignId === undefined ? [] : [{ projectId, campaignId }],
  request: accessRequest,
  response: z
    .object({
      AcctId: z.string().describe('The account the key speaks for'),
      IsValid: z.literal(true),
      Role: z.enum(roles),
    })
    .transform((wire) => ({ accountId: wire.AcctId, role: wire.Role })),
  errors: 'problem',
  encode: ({ accountId, role }) => ({ json: { AcctId: accountId, IsValid: true, Role: role } }),
})
