/** Why the proxy does not forward a request. Every refusal is a 403, which no client retries. */

/** The reasons of the proxy itself; a block has the reason of its decision. */
type ProxyReason =
  | 'unknown-request'
  | 'ambiguous-request'
  | 'unreadable-request'
  | 'no-phone-number'
  | 'other-callee'
  | 'scheduled-call'
  | 'undecided'
  | 'expired'

/** A number of a request that may not be called. */
export interface RefusedCall {
  /** Its place in the request, from 0. */
  readonly index: number
  readonly reason: string
  readonly message: string
  /** Absent if there is no decision. */
  readonly decisionId?: string | undefined
  readonly nextAllowedAt?: string | undefined
}

export class Refusal extends Error {
  readonly reason: string
  readonly calls: readonly RefusedCall[]

  constructor(reason: ProxyReason, message: string) {
    super(message)
    this.reason = reason
    this.calls = []
  }

  /** For a request with numbers that may not be called; there is at least one. */
  static ofCalls(calls: readonly RefusedCall[], total: number): Refusal {
    const [first] = calls
    const which = calls.map(({ index, reason }) => `${index} (${reason})`).join(', ')
    const message =
      total === 1
        ? first?.message
        : `${calls.length} of ${total} numbers may not be called: ${which}`
    const refusal = new Refusal('undecided', `callgate: ${message}; nothing was dialed`)
    return Object.assign(refusal, { reason: first?.reason ?? 'undecided', calls })
  }
}
