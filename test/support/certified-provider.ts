/** A certified OpenID Connect provider with its own pages for the login and the consent. It takes any password. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { closeAtEnd } from './close-at-end.js'
import { clientId, clientSecret } from './identity-provider.js'

export interface CertifiedProvider {
  readonly issuer: string
  /** The claims of who signs in, by their login. */
  readonly people: Map<string, object>
  /** Lets it answer; `console` is where callgate is, which has to know the issuer before. */
  start(console: string): void
}

/** Closed after the test file's last test. */
export async function openCertifiedProvider(): Promise<CertifiedProvider> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const signing = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeAtEnd(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, object>()
  const findAccount = (_context: unknown, accountId: string) => ({
    accountId,
    claims: () => ({ sub: accountId, ...people.get(accountId) }),
  })
  const start = (console: string) => {
    const client = {
      ...{ client_id: clientId, client_secret: clientSecret },
      redirect_uris: [`${console}/console/oidc/callback`],
      ...{ grant_types: ['authorization_code'], response_types: ['code'] },
    }
    const provider = new Provider(issuer, {
      ...{ clients: [client], jwks: { keys: [signing] }, findAccount },
      claims: { openid: ['sub'], profile: ['groups'], email: ['email', 'email_verified'] },
      // Otherwise they are at its userinfo endpoint alone.
      conformIdTokenClaims: false,
      cookies: { keys: [randomBytes(32).toString('hex')] },
      pkce: { required: () => true },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    })
    server.on('request', provider.callback())
  }
  return { issuer, people, start }
}
