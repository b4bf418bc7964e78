/**
 * The port through which requests leave for a provider. Who fills it knows sockets; what a request
 * asks and what a reply means is left to others.
 */

export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Never holds a key. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** A longer reply is not read to its end. */
  readonly maxReplyBytes?: number | undefined
}

/** A reply whose body arrived to its end. */
export interface ProviderReply {
  readonly status: number
  /** Lower case, without parameters; empty when there is none. */
  readonly contentType: string
  /** The header as sent. */
  readonly retryAfter: string | undefined
  readonly body: string
}

export interface Transport {
  /** Rejects with a {@link TransportError}, at the latest when the signal is aborted. */
  send(request: ProviderRequest, signal: AbortSignal): Promise<ProviderReply>
  /** Ends what is under way and leaves no socket. */
  close(): Promise<void>
}

/** There was no whole reply. The message names neither key nor number. */
export class TransportError extends Error {
  /** `unreadable`: what came is no HTTP, or in a coding that was not asked for. */
  readonly why: 'aborted' | 'unreachable' | 'cut-off' | 'too-large' | 'unreadable'

  constructor(why: TransportError['why'], detail: string) {
    super(detail)
    this.name = 'TransportError'
    this.why = why
  }
}
