/** What a refusal looks like on the wire: status and body in the shape an endpoint declares. */
import { STATUS_CODES } from 'node:http'
import type { ErrorShape, Reply } from '../api/endpoint.js'
import { AppError, type ErrorKind, statusByErrorKind } from '../errors.js'
import type { Logger } from '../observability/log.js'

export interface ErrorContext {
  readonly shape: ErrorShape
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
  /** Path of the request, without its query, which may hold a key. */
  readonly path: string
  /** Names the endpoint in the log. */
  readonly endpoint: string
}

/**
 * A refusal keeps its message, which goes to the log too if only the operator can do something about it. Anything else is a
 * bug: its cause goes to the log, and the caller gets a 500 without details.
 */
export function createErrorReply(error: unknown, context: ErrorContext, logger: Logger): Reply {
  if (error instanceof AppError) {
    const { kind, message, retryAfterSeconds } = error
    if (kind === 'unreadable-key') logger.error(message, { endpoint: context.endpoint })
    const reply = errorWriters[context.shape](statusByErrorKind[kind], message, {
      ...context,
      kind,
    })
    const headers = {
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
      ...(kind === 'unauthenticated' && { 'WWW-Authenticate': challengeOf(context.shape) }),
    }
    return { ...reply, headers: { ...reply.headers, ...headers } }
  }
  logger.error('request failed', { endpoint: context.endpoint, err: error })
  return errorWriters[context.shape](500, 'The request failed; the cause has been logged', context)
}

/**
 * How a caller may authenticate (RFC 6750, section 3); a client that wants a token: RFC 6749, 5.2. The
 * HTTP clients of some dialplans send a password only to a server that has asked for one.
 */
function challengeOf(shape: ErrorShape): string {
  const schemes =
    shape === 'block-line' ? ['Bearer', 'Basic'] : [shape === 'oauth' ? 'Basic' : 'Bearer']
  return schemes.map((scheme) => `${scheme} realm="callgate"`).join(', ')
}

type ErrorWriter = (
  status: number,
  message: string,
  context: ErrorContext & { readonly kind?: ErrorKind },
) => Reply

/** The word of a pre-dial line for what went wrong; anything else is an internal error. */
const blockWords: Readonly<Record<number, string>> = {
  400: 'bad-request',
  401: 'unauthenticated',
  403: 'forbidden',
  405: 'bad-request',
  409: 'conflict',
  413: 'bad-request',
  415: 'bad-request',
  503: 'overloaded',
}

/** RFC 6749, section 5.2; what it has no word for is a server error, as in section 4.1.2.1. */
const oauthErrors: Readonly<Partial<Record<ErrorKind, string>>> = {
  unauthenticated: 'invalid_client',
  'unsupported-grant': 'unsupported_grant_type',
  'invalid-grant-details': 'invalid_authorization_details',
  'not-available': 'temporarily_unavailable',
  overloaded: 'temporarily_unavailable',
}

/** A status line holds printable ASCII; other characters would end or garble it. Proxies may drop it. */
const maxReasonPhraseLength = 500

const errorWriters: Readonly<Record<ErrorShape, ErrorWriter>> = {
  'reason-phrase': (status, message) => ({ status, json: { ReasonPhrase: message } }),
  text: (status, message) => ({ status, text: message }),
  'text-or-error': (status, message, { jsonRequested }) =>
    jsonRequested ? { status, json: { error: message } } : { status, text: message },
  'block-line': (status) => ({
    status,
    text: `block:${blockWords[status] ?? 'internal-error'}:-:end\n`,
  }),
  oauth: (status, message, { kind }) => ({
    // In OAuth a request that cannot be read is 400, whatever is wrong with it.
    status: status === 415 ? 400 : status,
    json: {
      error: (kind && oauthErrors[kind]) ?? (status < 500 ? 'invalid_request' : 'server_error'),
      error_description: message.replace(/[^\x20-\x7e]|["\\]/g, "'"),
    },
  }),
  'reason-line': (status, message) => ({
    status,
    reasonPhrase: message.replace(/[^\x20-\x7e]/g, '?').slice(0, maxReasonPhraseLength),
    text: message,
  }),
  problem: (status, message, { path }) => ({
    status,
    contentType: 'application/problem+json',
    json: {
      type: 'about:blank',
      title: STATUS_CODES[status] ?? 'Error',
      status,
      detail: message,
      instance: path,
    },
  }),
}
