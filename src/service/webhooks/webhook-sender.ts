/**
 * The port for sending notifications. An implementation must protect our own network, since customers
 * choose the URLs.
 */

/** Why there was no response. */
export const sendFailures = [
  /** The URL can never receive a notification. */
  'bad-url',
  /** A header value is not valid in HTTP. */
  'bad-header',
  /** The name resolves to an address that is not public. */
  'blocked-address',
  /** No connection: unknown name, refused, no route, or a certificate for another name. */
  'unreachable',
  'timeout',
  /** The connection ended before the response was complete. */
  'cut-off',
  /** The response headers are too long. */
  'too-large',
  /** The response is not HTTP. */
  'unreadable',
] as const
export type SendFailure = (typeof sendFailures)[number]

export class SendError extends Error {
  readonly failure: SendFailure | 'aborted'

  /** The message must not contain any part of the request. */
  constructor(failure: SendFailure | 'aborted', message: string) {
    super(message)
    this.name = 'SendError'
    this.failure = failure
  }
}

export interface SendRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Covers everything from the name lookup to the end of the response. */
  readonly timeoutMs: number
  /** Aborts the request with the failure `aborted`. */
  readonly signal?: AbortSignal | undefined
}

export interface SendReply {
  readonly status: number
  /** The `Retry-After` header as received. */
  readonly retryAfter: string | undefined
}

export interface WebhookSender {
  /** Sends one POST. Resolves for any status, including redirects; rejects with {@link SendError}. */
  post(request: SendRequest): Promise<SendReply>
  /** The rule that a URL violates, if any; its host name is not looked up. */
  findProblem(url: string): string | undefined
}
