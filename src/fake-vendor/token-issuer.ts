/** Issues and checks bearer tokens by OAuth 2.0 client credentials (spec, "Authentication"). */
import type { TokenRequest, TokenResponse } from '../domain/caller.js'
import { AppError } from '../errors.js'

export interface TokenIssuerOptions {
  readonly clientId: string
  readonly clientSecret: string
  /** How long a token is valid; also sent as `expires_in`. */
  readonly tokenSeconds: number
  readonly monotonicMs: () => number
  readonly randomBytes: (size: number) => Buffer
}

const tokenBytes = 32

export class TokenIssuer {
  readonly #options: TokenIssuerOptions
  readonly #expiryByToken = new Map<string, number>()

  constructor(options: TokenIssuerOptions) {
    this.#options = options
  }

  isValid(token: string): boolean {
    const expiresAt = this.#expiryByToken.get(token)
    return expiresAt !== undefined && this.#options.monotonicMs() < expiresAt
  }

  /** Revokes all tokens. */
  reset(): void {
    this.#expiryByToken.clear()
  }

  /** Throws the errors of RFC 6749, section 5.2. */
  issue(request: TokenRequest): TokenResponse {
    if (request.grantType !== 'client_credentials') {
      throw new AppError('unsupported-grant', 'grant_type: must be client_credentials')
    }
    const { clientId, clientSecret, tokenSeconds, monotonicMs, randomBytes } = this.#options
    if (request.clientId !== clientId || request.clientSecret !== clientSecret) {
      throw new AppError('unauthenticated', 'client_id or client_secret is not valid')
    }
    const now = monotonicMs()
    for (const [token, expiresAt] of this.#expiryByToken) {
      if (expiresAt <= now) this.#expiryByToken.delete(token)
    }
    const token = randomBytes(tokenBytes).toString('base64url')
    this.#expiryByToken.set(token, now + tokenSeconds * 1000)
    return { token, expiresInSeconds: tokenSeconds }
  }
}
