/**
 * The port through which notifications leave the house. Who fills it guards the house's own network:
 * the addresses are customers' and not to be trusted.
 */

/** Why no answer came. */
export const sendFailures = [
  /** No address a notification can be sent to, now or ever. */
  'bad-url',
  /** A header that HTTP cannot carry. */
  'bad-header',
  /** The name leads to an address that is not public. */
  'blocked-address',
  /** No connection: no such name, refused, no route, a certificate that does not prove the name. */
  'unreachable',
  'timeout',
  /** The connection ended before the answer did. */
  'cut-off',
  /** The head of the answer is too long. */
  'too-large',
  /** What came is no HTTP. */
  'unreadable',
] as const
export type SendFailure = (typeof sendFailures)[number]

export class SendError extends Error {
  readonly failure: SendFailure | 'aborted'

  /** The message holds nothing of what was sent. */
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
  /** From the look-up of the name to the end of the answer. */
  readonly timeoutMs: number
  /** Gives up before that, with the failure `aborted`. */
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
  /** The rule that an address breaks by its text alone; its name is not looked up. */
  problemOf(url: string): string | undefined
}
