/**
 * The access token of OAuth client credentials (spec, "Authentication"): had once for all who ask,
 * renewed before it ends while the old one still serves, and left alone for a while when it cannot
 * be had. Its life is counted on the monotonic clock, from when it was asked for.
 */
import type { Timers } from '../../domain/clock.js'
import type { Credentials, KeyHeaders } from './credentials.js'
import type { NoAnswer } from './no-answer.js'
import type { ProviderBasics } from './provider-options.js'
import { readToken, TokenError } from './read-token.js'
import { type ProviderReply, type Transport, TransportError } from './transport.js'

export interface TokenParts {
  readonly clientId: string
  readonly clientSecret: string
  readonly transport: Transport
}

const requestMs = 10_000
/** Of its life: from then on it is renewed when it is used. */
const renewFrom = 0.8
const firstPauseMs = 1_000
const longestPauseMs = 60_000

interface Token {
  readonly headers: KeyHeaders
  readonly renewAtMs: number
  readonly endsAtMs: number
}

export class AccessToken implements Credentials {
  readonly #options: ProviderBasics
  readonly #parts: TokenParts
  readonly #timers: Timers
  #token: Token | undefined
  #renewal: Promise<void> | undefined
  #request: AbortController | undefined
  #failures = 0
  #pauseEndsMs = 0
  #problem: NoAnswer | undefined
  #isClosed = false

  constructor(options: ProviderBasics, parts: TokenParts) {
    this.#options = options
    this.#parts = parts
    this.#timers = options.timers
  }

  current(): KeyHeaders | undefined {
    const now = this.#timers.monotonicMs()
    if (!this.#token || now >= this.#token.endsAtMs) return undefined
    if (now >= this.#token.renewAtMs && !this.#isPausing(now)) void this.obtain()
    return this.#token.headers
  }

  problem(): NoAnswer | undefined {
    const now = this.#timers.monotonicMs()
    if (this.#token && now < this.#token.endsAtMs) return undefined
    return this.#isPausing(now) ? this.#problem : undefined
  }

  obtain(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  drop(headers: KeyHeaders): boolean {
    if (this.#token?.headers === headers) this.#token = undefined
    return true
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#request?.abort()
    await this.#renewal
  }

  #isPausing(nowMs: number): boolean {
    return nowMs < this.#pauseEndsMs
  }

  async #renew(): Promise<void> {
    const askedAtMs = this.#timers.monotonicMs()
    const request = new AbortController()
    this.#request = request
    const callOff = this.#timers.after(requestMs, () => request.abort())
    try {
      const reply = await this.#send(request.signal)
      const { token, seconds } = readToken(reply, this.#options.clock.now())
      const endsAtMs = askedAtMs + seconds * 1000
      if (this.#timers.monotonicMs() >= endsAtMs) {
        throw new TokenError('not-understood', 'its life had ended when it came')
      }
      this.#token = {
        headers: { authorization: `Bearer ${token}` },
        renewAtMs: askedAtMs + seconds * 1000 * renewFrom,
        endsAtMs,
      }
      this.#succeeded()
    } catch (cause) {
      this.#failed(cause)
    } finally {
      callOff()
    }
  }

  #send(signal: AbortSignal): Promise<ProviderReply> {
    const { clientId, clientSecret, transport } = this.#parts
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

  #succeeded(): void {
    const { name, log } = this.#options
    if (this.#failures > 0) log.info('a provider gives access tokens again', { provider: name })
    this.#failures = 0
    this.#pauseEndsMs = 0
    this.#problem = undefined
  }

  #failed(cause: unknown): void {
    const { name, log, random } = this.#options
    const { why, detail, waitMs } = failureIn(cause)
    this.#failures += 1
    const ownMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failures - 1))
    const pauseMs = Math.max(ownMs * (0.5 + 0.5 * random()), waitMs)
    this.#pauseEndsMs = this.#timers.monotonicMs() + pauseMs
    this.#problem = { why, detail: `no access token: ${detail}` }
    if (this.#failures > 1 || this.#isClosed) return
    const fields = { provider: name, detail }
    if (why === 'refused') log.error('a provider refuses the client for access tokens', fields)
    else log.warn('no access token can be had from a provider; tried again', fields)
  }
}

function failureIn(cause: unknown): NoAnswer & { readonly waitMs: number } {
  if (cause instanceof TokenError) {
    return { why: cause.why, detail: cause.message, waitMs: cause.waitMs }
  }
  const detail = cause instanceof TransportError ? cause.message : 'the request could not be made'
  return { why: 'source-failed', detail, waitMs: 0 }
}
