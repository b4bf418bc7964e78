/**
 * The credentials of requests to a provider (spec, "Authentication"): an API key, or an access token from
 * the OAuth client credentials grant. All requests share the token. It is renewed before it expires,
 * while the old one is still in use; after a failure there is a pause before the next attempt. Its
 * lifetime is measured on the monotonic clock from the request. Replies of the token endpoint are parsed
 * strictly (RFC 6749, 5.1 and 5.2).
 *
 * A library such as oauth4webapi would replace only the form and the parsing, and would need an adapter
 * of the same length from its `fetch` to our transport.
 */

import type { Instant, Timers } from '../../../domain/time/clock.js'
import { computeBackoffMs } from '../../../runtime/backoff.js'
import type { ProviderBaseOptions } from '../provider-options.js'
import { parseRetryAfterMs } from './backoff.js'
import type { QuestionFailure } from './question-failure.js'
import type { ProviderReply, Transport } from './transport.js'
import { TransportError } from './transport.js'

/** Headers with a key; the object is identical as long as the key is. */
export type AuthHeaders = Readonly<Record<string, string>>

export interface Credentials {
  /** The headers for a request that leaves now; `undefined` if {@link obtain} must be called first. */
  getHeaders(): AuthHeaders | undefined
  /** Why no request can be sent at present. */
  findProblem(): QuestionFailure | undefined
  /** Settles when `getHeaders` or `findProblem` has a result; never rejects. */
  obtain(): Promise<void>
  /** Discards headers that the provider has not accepted. Returns whether new ones can be obtained. */
  invalidate(headers: AuthHeaders): boolean
  close(): Promise<void>
}

/** A permanent login id, or a token that is renewed. */
export function openCredentials(options: ProviderBaseOptions, transport: Transport): Credentials {
  const { credentials } = options
  if (credentials.kind === 'oauth') return new AccessToken(options, { ...credentials, transport })
  const headers = { loginId: credentials.loginId }
  return {
    getHeaders: () => headers,
    findProblem: () => undefined,
    obtain: () => Promise.resolve(),
    invalidate: () => false,
    close: () => Promise.resolve(),
  }
}

interface AccessTokenDeps {
  readonly clientId: string
  readonly clientSecret: string
  readonly transport: Transport
}

const requestTimeoutMs = 10_000

/** Share of its lifetime after which a token is renewed when used. */
const renewAfterShare = 0.8

const backoff = { firstMs: 1_000, maxMs: 60_000 }

interface Token {
  readonly headers: AuthHeaders
  readonly renewAtMs: number
  readonly expiresAtMs: number
}

class AccessToken implements Credentials {
  readonly #options: ProviderBaseOptions
  readonly #deps: AccessTokenDeps
  readonly #timers: Timers
  #token: Token | undefined
  #renewal: Promise<void> | undefined
  #request: AbortController | undefined
  #failures = 0
  #backoffEndsAtMs = 0
  #problem: QuestionFailure | undefined
  #isClosed = false

  constructor(options: ProviderBaseOptions, deps: AccessTokenDeps) {
    this.#options = options
    this.#deps = deps
    this.#timers = options.timers
  }

  getHeaders(): AuthHeaders | undefined {
    const now = this.#timers.monotonicMs()
    if (!this.#token || now >= this.#token.expiresAtMs) return undefined
    if (now >= this.#token.renewAtMs && !this.#isBackingOff(now)) void this.obtain()
    return this.#token.headers
  }

  findProblem(): QuestionFailure | undefined {
    const now = this.#timers.monotonicMs()
    if (this.#token && now < this.#token.expiresAtMs) return undefined
    return this.#isBackingOff(now) ? this.#problem : undefined
  }

  obtain(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  invalidate(headers: AuthHeaders): boolean {
    if (this.#token?.headers === headers) this.#token = undefined
    return true
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#request?.abort()
    await this.#renewal
  }

  #isBackingOff(nowMs: number): boolean {
    return nowMs < this.#backoffEndsAtMs
  }

  async #renew(): Promise<void> {
    const requestedAtMs = this.#timers.monotonicMs()
    const request = new AbortController()
    this.#request = request
    const cancelTimeout = this.#timers.after(requestTimeoutMs, () => request.abort())
    try {
      const reply = await this.#send(request.signal)
      const { token, seconds } = parseTokenReply(reply, this.#options.clock.now())
      const expiresAtMs = requestedAtMs + seconds * 1000
      if (this.#timers.monotonicMs() >= expiresAtMs) {
        throw new TokenError('not-understood', 'the token had expired when it arrived')
      }
      this.#token = {
        headers: { authorization: `Bearer ${token}` },
        renewAtMs: requestedAtMs + seconds * 1000 * renewAfterShare,
        expiresAtMs,
      }
      this.#recordSuccess()
    } catch (cause) {
      this.#recordFailure(cause)
    } finally {
      cancelTimeout()
    }
  }

  #send(signal: AbortSignal): Promise<ProviderReply> {
    const { clientId, clientSecret, transport } = this.#deps
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    }
    const url = this.#options.addresses.authUrl
    return transport.send({ method: 'POST', url, headers, body: form.toString() }, signal)
  }

  #recordSuccess(): void {
    const { name, log } = this.#options
    if (this.#failures > 0) log.info('a provider issues access tokens again', { provider: name })
    this.#failures = 0
    this.#backoffEndsAtMs = 0
    this.#problem = undefined
  }

  #recordFailure(cause: unknown): void {
    const { name, log, random } = this.#options
    const { reason, detail, waitMs } = toFailure(cause)
    this.#failures += 1
    const ownMs = computeBackoffMs(this.#failures, backoff)
    const pauseMs = Math.max(ownMs * (0.5 + 0.5 * random()), waitMs)
    this.#backoffEndsAtMs = this.#timers.monotonicMs() + pauseMs
    this.#problem = { reason, detail: `no access token: ${detail}` }
    if (this.#failures > 1 || this.#isClosed) return
    const fields = { provider: name, detail }
    if (reason === 'refused') log.error('a provider refuses our OAuth client', fields)
    else log.warn('a provider issues no access token; trying again', fields)
  }
}

function toFailure(cause: unknown): QuestionFailure & { readonly waitMs: number } {
  if (cause instanceof TokenError) {
    return { reason: cause.why, detail: cause.message, waitMs: cause.waitMs }
  }
  const detail = cause instanceof TransportError ? cause.message : 'the request could not be sent'
  return { reason: 'source-failed', detail, waitMs: 0 }
}

/** No token was obtained. The message must not contain a key. */
class TokenError extends Error {
  readonly why: QuestionFailure['reason']
  /** The pause requested by the provider; 0 for none. */
  readonly waitMs: number

  constructor(why: QuestionFailure['reason'], detail: string, waitMs = 0) {
    super(detail)
    this.why = why
    this.waitMs = waitMs
  }
}

/** Parses a token; its lifetime starts with the request. Throws a {@link TokenError}. */
function parseTokenReply(
  reply: ProviderReply,
  now: Instant,
): { readonly token: string; readonly seconds: number } {
  if (reply.status < 200 || reply.status > 299) throw createRefusalError(reply, now)
  const fields = parseFields(reply.body)
  const { token_type: type, access_token: token, expires_in: seconds } = fields
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new TokenError('not-understood', 'token_type is not Bearer')
  }
  // A token must be valid in a header.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token)) {
    throw new TokenError('not-understood', 'access_token is missing or not valid in a header')
  }
  if (typeof seconds !== 'number' || !(seconds > 0)) {
    throw new TokenError('not-understood', 'expires_in is not a positive number of seconds')
  }
  return { token, seconds }
}

function createRefusalError({ status, body, retryAfter }: ProviderReply, now: Instant): TokenError {
  const isRefusal = status >= 400 && status < 500 && status !== 429
  const waitMs = retryAfter === undefined ? 0 : parseRetryAfterMs(retryAfter, now)
  const why = isRefusal ? 'refused' : 'source-failed'
  return new TokenError(why, `answered ${status}${findErrorCode(body)}`, waitMs)
}

interface TokenFields {
  readonly token_type?: unknown
  readonly access_token?: unknown
  readonly expires_in?: unknown
}

function parseFields(body: string): TokenFields {
  try {
    const reply: unknown = JSON.parse(body)
    if (typeof reply === 'object' && reply !== null) return { ...reply }
  } catch {
    // Reported below, like JSON that is not an object.
  }
  throw new TokenError('not-understood', 'the reply is not a JSON object')
}

/** Such as `invalid_client`; text of any other form is not shown. */
function findErrorCode(body: string): string {
  const code = /"error"\s*:\s*"([a-z_]{1,40})"/.exec(body)?.[1]
  return code === undefined ? '' : ` ${code}`
}
