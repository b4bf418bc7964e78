/**
 * The port for sending notifications. An implementation must protect our own network, since customers
 * choose the URLs.
 */

/** Why no answer came. */
export const sendFailures = [
  /** A URL that a notification can never be sent to. */
  'bad-url',
  /** A header that HTTP cannot carry. */
  'bad-header',
  /** The name resolves to an address that is not public. */
  'blocked-address',
  /** No connection: unknown name, refused, no route, or a certificate for another name. */
  'unreachable',
  'timeout',
  /** The connection ended before the answer did. */
  'cut-off',
  /** The headers of the answer are too long. */
  'too-large',
  /** The answer is not HTTP. */
  'unreadable',
] as const
export type SendFailure = (typeof sendFailures)[number]

export class SendError extends Error {
  readonly failure: SendFailure | 'aborted'

  /** The message contains nothing of the request. */
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
  /** From the lookup of the name to the end of the answer. */
  readonly timeoutMs: number
  /** Ends the request earlier, with the failure `aborted`. */
  readonly signal?: AbortSignal | undefined
}

export interface SendReply {
  readonly status: number
  /** The header of that name, as received. */
  readonly retryAfter: string | undefined
}

export interface WebhookSender {
  /** One POST. Any status is an answer, redirects included; rejects with {@link SendError}. */
  post(request: SendRequest): Promise<SendReply>
  /** The rule that the text of a URL breaks; its name is not looked up. */
  findProblem(url: string): string | undefined
}
