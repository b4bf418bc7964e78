/** The settings of the console. */
import { z } from 'zod'
import { mainAccountId, personRoles } from '../domain/caller.js'
import { parseUrl } from '../runtime/parse-url.js'
import { addProblem, filePath, text } from './values.js'

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/

function isSecureOrLoopback(address: string): boolean {
  const { protocol, hostname = '' } = parseUrl(address) ?? {}
  return protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))
}

const oidcSchema = z
  .strictObject({
    issuer: z
      .string()
      .regex(/^[^\s?#@]+$/, 'must be an address without a name, query or fragment')
      .refine(isSecureOrLoopback, 'must be https://..., or http:// at a loopback address')
      .optional()
      .describe(
        'Lets people sign in to the console at an identity provider with OpenID Connect: its issuer, below which ' +
          '/.well-known/openid-configuration is. Register <console.publicUrl>/console/oidc/callback there',
      ),
    name: text
      .max(60)
      .optional()
      .describe('Of the provider, for people; default: the host of issuer'),
    clientId: text.optional().describe('What the provider calls callgate; required with issuer'),
    clientSecretFile: filePath.describe(
      'File with the secret of the client on its first line, which is sent as client_secret_basic; required with issuer',
    ),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope without spaces'))
      .default(['openid', 'profile', 'email'])
      .refine((scopes) => scopes.includes('openid'), 'must have openid')
      .describe('What the provider is asked for'),
    roleClaim: text
      .default('roles')
      .describe('The claim of the ID token, a text or a list of texts, that roles looks at'),
    roles: z
      .record(text, z.enum(personRoles))
      .default({})
      .describe(
        'Values of the claim and what they make of a person: {callgate-admins: admin, compliance: officer}. viewer looks up and ' +
          'searches; operator also previews decisions and pauses calls; officer also keeps opt-outs and consents and approves ' +
          'calls; admin does everything. Of several the highest counts; without one nobody gets in. Required with issuer',
      ),
    account: text.default(mainAccountId).describe('The account that they sign in to'),
    nameClaim: text
      .default('email')
      .describe('The claim that names a person in the audit table; without it the subject does'),
  })
  .superRefine((settings, context) => {
    if (settings.issuer === undefined) return
    for (const name of ['clientId', 'clientSecretFile'] as const) {
      if (settings[name] === undefined) addProblem(context, [name], 'is required with issuer')
    }
    if (Object.keys(settings.roles).length === 0) {
      addProblem(context, ['roles'], 'must have a value with issuer, or nobody could sign in')
    }
  })

export const consoleSchema = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether pages for people are at /console'),
  publicUrl: z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+$/, 'must be https://host or https://host:port, without a path')
    .refine((text) => parseUrl(text) !== undefined, 'must have a valid host and port')
    .refine(isSecureOrLoopback, 'must be https://..., or http:// at a loopback address')
    .optional()
    .describe(
      'Address of the console for browsers, behind a proxy with https: https://callgate.example.com. Requests for another ' +
        'host are refused. Default: any loopback address, such as http://localhost:8480, or a published or forwarded port',
    ),
  oidc: oidcSchema.prefault({}),
})

type ConsoleSettings = z.output<typeof consoleSchema>

/** Of a provider that people may sign in at. */
export type OidcSettings = ConsoleSettings['oidc'] & {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecretFile: string
}

export function findOidc({ oidc }: ConsoleSettings): OidcSettings | undefined {
  const { issuer, clientId, clientSecretFile } = oidc
  if (issuer === undefined || clientId === undefined || clientSecretFile === undefined)
    return undefined
  return { ...oidc, issuer, clientId, clientSecretFile }
}

/** The address of the proxy in front of the console; absent if browsers reach it at a loopback address. */
export function findProxyUrl({ publicUrl }: ConsoleSettings): string | undefined {
  return publicUrl?.startsWith('https:') ? publicUrl : undefined
}
