/** What the token endpoint of a provider says (RFC 6749, 5.1 and 5.2), read strictly. */
import type { Instant } from '../../domain/clock.js'
import type { NoAnswer } from './no-answer.js'
import { retryAfterMs } from './retry.js'
import type { ProviderReply } from './transport.js'

/** There is no token; the detail names no key. */
export class TokenError extends Error {
  readonly why: NoAnswer['why']
  /** How long the provider asks to be left alone; 0 when it does not. */
  readonly waitMs: number

  constructor(why: NoAnswer['why'], detail: string, waitMs = 0) {
    super(detail)
    this.why = why
    this.waitMs = waitMs
  }
}

/** Seconds count from when the token was asked for. Throws a {@link TokenError}. */
export function readToken(
  reply: ProviderReply,
  now: Instant,
): { readonly token: string; readonly seconds: number } {
  if (reply.status < 200 || reply.status > 299) throw refusal(reply, now)
  const fields = fieldsIn(reply.body)
  const { token_type: type, access_token: token, expires_in: seconds } = fields
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new TokenError('not-understood', 'token_type is not Bearer')
  }
  // What could not stand in a header is no token.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token)) {
    throw new TokenError('not-understood', 'access_token is absent or cannot be sent')
  }
  if (typeof seconds !== 'number' || !(seconds > 0)) {
    throw new TokenError('not-understood', 'expires_in is not a number of seconds above 0')
  }
  return { token, seconds }
}

function refusal({ status, body, retryAfter }: ProviderReply, now: Instant): TokenError {
  const isRefusal = status >= 400 && status < 500 && status !== 429
  const waitMs = retryAfter === undefined ? 0 : retryAfterMs(retryAfter, now)
  const why = isRefusal ? 'refused' : 'source-failed'
  return new TokenError(why, `answered ${status}${errorCodeIn(body)}`, waitMs)
}

interface TokenFields {
  readonly token_type?: unknown
  readonly access_token?: unknown
  readonly expires_in?: unknown
}

function fieldsIn(body: string): TokenFields {
  try {
    const reply: unknown = JSON.parse(body)
    if (typeof reply === 'object' && reply !== null) return { ...reply }
  } catch {
    // Told below: what is no JSON has no fields either.
  }
  throw new TokenError('not-understood', 'the reply is no JSON object')
}

/** Such as `invalid_client`; a text of any other form is not repeated. */
function errorCodeIn(body: string): string {
  const code = /"error"\s*:\s*"([a-z_]{1,40})"/.exec(body)?.[1]
  return code === undefined ? '' : ` ${code}`
}
