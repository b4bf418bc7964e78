/** A small identity provider: OpenID Connect's code flow with PKCE, and what tests make it do wrong. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { closeAtEnd } from './close-at-end.js'

export const clientId = 'callgate'
export const clientSecret = 'secret of the client'

export interface TestIdentityProvider {
  readonly issuer: string
  /** What the next ID tokens say, over what is right; `undefined` leaves a claim out. */
  claims: Record<string, unknown>
  /** Signs the next ID tokens with a key that is not published. */
  hasWrongKey: boolean
  /** The error of the next visits in the place of a code. */
  refusal: string | undefined
  /** What was asked for with the last visit. */
  readonly visits: URLSearchParams[]
  /** Every ID and access token that it gave out. */
  readonly tokens: string[]
  close(): Promise<void>
}

interface Code {
  readonly challenge: string
  readonly nonce: string | undefined
  readonly redirectUri: string
}

/** Closed after the test file's last test. */
export async function openIdentityProvider(): Promise<TestIdentityProvider> {
  const right = await generateKeyPair('ES256')
  const wrong = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(right.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  const codes = new Map<string, Code>()
  const server = createServer((request, response) => {
    answer(request, response).catch((cause: unknown) => response.writeHead(500).end(String(cause)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: TestIdentityProvider = {
    ...{ issuer, claims: {}, hasWrongKey: false, refusal: undefined, visits: [], tokens: [] },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  closeAtEnd(() => provider.close())

  const sendJson = (response: ServerResponse, body: object, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  const authorize = (response: ServerResponse, query: URLSearchParams) => {
    provider.visits.push(query)
    const redirectUri = query.get('redirect_uri') ?? ''
    const challenge = query.get('code_challenge') ?? ''
    const isRight =
      query.get('client_id') === clientId &&
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      /^[\w-]{43}$/.test(challenge) &&
      redirectUri.endsWith('/console/oidc/callback')
    if (!isRight) return sendJson(response, { error: 'invalid_request' }, 400)
    const back = new URL(redirectUri)
    back.searchParams.set('state', query.get('state') ?? '')
    if (provider.refusal !== undefined) back.searchParams.set('error', provider.refusal)
    else {
      const code = randomBytes(16).toString('hex')
      codes.set(code, { challenge, nonce: query.get('nonce') ?? undefined, redirectUri })
      back.searchParams.set('code', code)
    }
    response.writeHead(302, { location: back.href }).end()
  }

  const giveTokens = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const basic = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString()
    const login = basic.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    if (login.join(':') !== `${clientId}:${clientSecret}`) {
      return sendJson(response, { error: 'invalid_client' }, 401)
    }
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const verifier = form.get('code_verifier') ?? ''
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    if (code?.challenge !== challenge || code.redirectUri !== form.get('redirect_uri')) {
      return sendJson(response, { error: 'invalid_grant' }, 400)
    }
    const now = Math.floor(Date.now() / 1_000)
    const claims = {
      ...{ iss: issuer, aud: clientId, sub: 'subject-1', nonce: code.nonce },
      ...{ iat: now, exp: now + 300, ...provider.claims },
    }
    const idToken = await new SignJWT(JSON.parse(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign((provider.hasWrongKey ? wrong : right).privateKey)
    const accessToken = randomBytes(16).toString('hex')
    provider.tokens.push(idToken, accessToken)
    sendJson(response, { access_token: accessToken, token_type: 'bearer', id_token: idToken })
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer)
    if (pathname === '/authorize') return authorize(response, searchParams)
    if (pathname === '/token') return await giveTokens(request, response)
    if (pathname === '/jwks') return sendJson(response, { keys: [jwk] })
    if (pathname !== '/.well-known/openid-configuration') return sendJson(response, {}, 404)
    sendJson(response, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      code_challenge_methods_supported: ['S256'],
    })
  }
  return provider
}

/** The settings of the console for it. */
export function oidcEnvironment(issuer: string, clientSecretFile: string): Record<string, string> {
  return {
    CALLGATE_CONSOLE_OIDC_ISSUER: issuer,
    CALLGATE_CONSOLE_OIDC_NAME: 'Example ID',
    CALLGATE_CONSOLE_OIDC_CLIENT_ID: clientId,
    CALLGATE_CONSOLE_OIDC_CLIENT_SECRET_FILE: clientSecretFile,
    CALLGATE_CONSOLE_OIDC_ROLE_CLAIM: 'groups',
    CALLGATE_CONSOLE_OIDC_ROLES:
      '{see: viewer, "run it": operator, comply: officer, "own <b>": admin}',
  }
}
