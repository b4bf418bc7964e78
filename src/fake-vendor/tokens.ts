/**
 * OAuth 2.0 client credentials (spec, "Authentication"; RFC 6749, sections 4.4, 5.1 and 5.2): hands
 * out bearer tokens and knows them until they expire.
 */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.js'
import { readBodyFields } from '../http/read-fields.js'
import { type VendorReply, vendorReply } from './vendor-reply.js'

export interface TokensOptions {
  readonly clientId: string
  readonly clientSecret: string
  /** How long a token is accepted, and what `expires_in` says. */
  readonly tokenSeconds: number
  readonly monotonicMs: () => number
  readonly randomBytes: (size: number) => Buffer
}

const tokenBytes = 32
const largestBody = 65_536

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

  /** Answers a request for a token, refusals included. */
  async answer(request: IncomingMessage): Promise<VendorReply> {
    if (request.method !== 'POST') {
      return refusal('invalid_request', 'use POST', { status: 405, headers: { Allow: 'POST' } })
    }
    try {
      const rules = { accepts: ['form'], maxBytes: largestBody } as const
      const { fields } = await readBodyFields(request, rules)
      return this.#answerFields(fields)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return refusal('invalid_request', error.message)
    }
  }

  #answerFields(fields: Readonly<Record<string, unknown>>): VendorReply {
    const missing = ['grant_type', 'client_id', 'client_secret'].filter((name) => !fields[name])
    if (missing.length > 0) return refusal('invalid_request', `${missing.join(', ')}: is required`)
    if (fields.grant_type !== 'client_credentials') {
      return refusal('unsupported_grant_type', 'grant_type: must be client_credentials')
    }
    const { clientId, clientSecret } = this.#options
    if (fields.client_id !== clientId || fields.client_secret !== clientSecret) {
      return refusal('invalid_client', 'client_id or client_secret is not valid', { status: 401 })
    }
    return this.#issue()
  }

  #issue(): VendorReply {
    const { tokenSeconds, monotonicMs, randomBytes } = this.#options
    const now = monotonicMs()
    for (const [token, expiresAt] of this.#expiresAt) {
      if (expiresAt <= now) this.#expiresAt.delete(token)
    }
    const token = randomBytes(tokenBytes).toString('base64url')
    this.#expiresAt.set(token, now + tokenSeconds * 1000)
    const json = { token_type: 'Bearer', expires_in: tokenSeconds, access_token: token }
    return vendorReply({ json }, { Pragma: 'no-cache' })
  }
}

function refusal(
  error: string,
  description: string,
  { status = 400, headers = {} }: Partial<Pick<VendorReply, 'status' | 'headers'>> = {},
): VendorReply {
  return vendorReply({ status, json: { error, error_description: description } }, headers)
}
