/**
 * OAuth 2.0 client credentials (spec, "Authentication"): hands out bearer tokens and knows them
 * until they expire.
 */
import type { AccessGrant, TokenRequest } from '../domain/access-grant.js'
import { AppError } from '../errors.js'

export interface TokensOptions {
  readonly clientId: string
  readonly clientSecret: string
  /** How long a token is accepted, and what `expires_in` says. */
  readonly tokenSeconds: number
  readonly monotonicMs: () => number
  readonly randomBytes: (size: number) => Buffer
}

const tokenBytes = 32

export class Tokens {
  readonly #options: TokensOptions
  readonly #expiresAt = new Map<string, number>()

  constructor(options: TokensOptions) {
    this.#options = options
  }

  accepts(token: string): boolean {
    const expiresAt = this.#expiresAt.get(token)
    return expiresAt !== undefined && this.#options.monotonicMs() < expiresAt
  }

  /** Tokens handed out before are not accepted any more. */
  reset(): void {
    this.#expiresAt.clear()
  }

  /** Throws the refusals of RFC 6749, section 5.2. */
  grant(asked: TokenRequest): AccessGrant {
    if (asked.grantType !== 'client_credentials') {
      throw new AppError('unsupported-grant', 'grant_type: must be client_credentials')
    }
    const { clientId, clientSecret, tokenSeconds, monotonicMs, randomBytes } = this.#options
    if (asked.clientId !== clientId || asked.clientSecret !== clientSecret) {
      throw new AppError('unauthenticated', 'client_id or client_secret is not valid')
    }
    const now = monotonicMs()
    for (const [token, expiresAt] of this.#expiresAt) {
      if (expiresAt <= now) this.#expiresAt.delete(token)
    }
    const token = randomBytes(tokenBytes).toString('base64url')
    this.#expiresAt.set(token, now + tokenSeconds * 1000)
    return { token, expiresInSeconds: tokenSeconds }
  }
}
