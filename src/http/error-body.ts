/** What a refusal looks like on the wire: status and body in the shape an endpoint declares. */
import { STATUS_CODES } from 'node:http'
import type { ErrorShape, Reply } from '../api/endpoint.js'
import { AppError, errorKinds } from '../errors.js'
import type { Logger } from '../log.js'

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
 * A refusal keeps its message. Anything else is a bug: its cause goes to the log, and the caller
 * gets a bland 500.
 */
export function errorReply(error: unknown, context: ErrorContext, logger: Logger): Reply {
  if (error instanceof AppError) {
    return shapes[context.shape](errorKinds[error.kind], error.message, context)
  }
  logger.error('request failed', { endpoint: context.endpoint, err: error })
  return shapes[context.shape](500, 'The request failed; the cause has been logged', context)
}

type WriteError = (status: number, message: string, context: ErrorContext) => Reply

/** The word of a pre-dial line for what went wrong; anything else is an internal error. */
const blockWords: Readonly<Record<number, string>> = {
  400: 'bad-request',
  401: 'unauthenticated',
  405: 'bad-request',
  413: 'bad-request',
  415: 'bad-request',
}

const shapes: Readonly<Record<ErrorShape, WriteError>> = {
  'reason-phrase': (status, message) => ({ status, json: { ReasonPhrase: message } }),
  text: (status, message) => ({ status, text: message }),
  'text-or-error': (status, message, { jsonRequested }) =>
    jsonRequested ? { status, json: { error: message } } : { status, text: message },
  'block-line': (status) => ({
    status,
    text: `block:${blockWords[status] ?? 'internal-error'}:-:end\n`,
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
