/** The port for sending requests to a provider. */

export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Never contains a key. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Longer replies are rejected. */
  readonly maxReplyBytes?: number | undefined
}

/** A complete reply. */
export interface ProviderReply {
  readonly status: number
  /** Lower case, without parameters; empty when absent. */
  readonly contentType: string
  /** The header as sent. */
  readonly retryAfter: string | undefined
  readonly body: string
}

export interface Transport {
  /** Rejects with a {@link TransportError}, at the latest when the signal is aborted. */
  send(request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply>
  /** Ends requests in flight and leaves no socket. */
  close(): Promise<void>
}

/** There is no complete reply. The message contains neither key nor number. */
export class TransportError extends Error {
  /** `unreadable`: the reply is not HTTP, or has an unexpected content coding. */
  readonly why: 'aborted' | 'unreachable' | 'cut-off' | 'too-large' | 'unreadable'

  constructor(why: TransportError['why'], detail: string) {
    super(detail)
    this.name = 'TransportError'
    this.why = why
  }
}
