/**
 * A circuit breaker: after several consecutive failures, requests are suspended for a while, then one
 * request probes. The time is an argument; cockatiel 3 always reads the machine's clock, so it could not
 * be tested with virtual time.
 */

const maxOpenMs = 60_000

export interface CircuitBreakerOptions {
  readonly maxFailures: number
  readonly openMs: number
  readonly random: () => number
  /** Called once when it opens, with the last failure, and once when it closes. */
  readonly onChange: (open: boolean, detail: string) => void
}

/** `due`: the next request is the probe; `probing`: the probe is in flight and no other request may leave. */
export type CircuitState = 'closed' | 'open' | 'due' | 'probing'

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  #state: 'closed' | 'open' | 'probing' = 'closed'
  #failures = 0
  #probeAt = 0
  #openMs: number
  #detail = ''

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
    this.#openMs = options.openMs
  }

  getState(nowMs: number): CircuitState {
    return this.#state === 'open' && nowMs >= this.#probeAt ? 'due' : this.#state
  }

  get isOpen(): boolean {
    return this.#state !== 'closed'
  }

  /** The failure that keeps the circuit open; empty if it is closed. */
  get detail(): string {
    return this.isOpen ? this.#detail : ''
  }

  /** Must be called when a request leaves, only while closed or due. Returns whether it is the probe. */
  startRequest(): boolean {
    if (this.#state === 'closed') return false
    this.#state = 'probing'
    return true
  }

  /** While open only the result of the probe counts; earlier requests left before the failure. */
  recordSuccess(isProbe: boolean): void {
    if (isProbe) this.#close()
    else if (this.#state === 'closed') this.#failures = 0
  }

  recordFailure(isProbe: boolean, detail: string, nowMs: number): void {
    if (isProbe) this.#open(detail, nowMs)
    else if (this.#state === 'closed') {
      this.#failures += 1
      if (this.#failures >= this.#options.maxFailures) this.#open(detail, nowMs)
    }
  }

  /** Records a result that does not show whether the provider works; a probe is then still due. */
  recordInconclusive(isProbe: boolean, nowMs: number): void {
    if (!isProbe) return
    this.#state = 'open'
    this.#probeAt = nowMs
  }

  #open(detail: string, nowMs: number): void {
    const { random, onChange, openMs } = this.#options
    const isNew = this.#state === 'closed'
    this.#state = 'open'
    this.#detail = detail
    this.#probeAt = nowMs + this.#openMs * (0.75 + 0.25 * random())
    this.#openMs = Math.min(this.#openMs * 2, Math.max(maxOpenMs, openMs))
    if (isNew) onChange(true, detail)
  }

  #close(): void {
    this.#state = 'closed'
    this.#failures = 0
    this.#openMs = this.#options.openMs
    this.#options.onChange(false, this.#detail)
  }
}
