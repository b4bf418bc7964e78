/**
 * Whether a question may be sent to its provider at all: after so many failed requests in a row it
 * is left alone for a while, then one request probes. It only reckons, with the time handed in.
 */

const longestOpenMs = 60_000

export interface CircuitOptions {
  readonly failures: number
  readonly openMs: number
  readonly random: () => number
  /** Told once when it opens, with the last failure, and once when it closes. */
  readonly changed: (open: boolean, detail: string) => void
}

/** `due`: the next request is the probe; `probing`: it is under way and nothing else may leave. */
export type CircuitState = 'closed' | 'open' | 'due' | 'probing'

export class Circuit {
  readonly #options: CircuitOptions
  #state: 'closed' | 'open' | 'probing' = 'closed'
  #failures = 0
  #probeAt = 0
  #openMs: number
  #detail = ''

  constructor(options: CircuitOptions) {
    this.#options = options
    this.#openMs = options.openMs
  }

  state(nowMs: number): CircuitState {
    return this.#state === 'open' && nowMs >= this.#probeAt ? 'due' : this.#state
  }

  get isOpen(): boolean {
    return this.#state !== 'closed'
  }

  /** The failure that keeps it open; empty when it is closed. */
  get detail(): string {
    return this.isOpen ? this.#detail : ''
  }

  /** A request leaves: whether it is the probe. Only while closed or due. */
  begin(): boolean {
    if (this.#state === 'closed') return false
    this.#state = 'probing'
    return true
  }

  /** While open only the probe's end counts: what left before tells of the time before. */
  succeeded(isProbe: boolean): void {
    if (isProbe) this.#close()
    else if (this.#state === 'closed') this.#failures = 0
  }

  failed(isProbe: boolean, detail: string, nowMs: number): void {
    if (isProbe) this.#open(detail, nowMs)
    else if (this.#state === 'closed') {
      this.#failures += 1
      if (this.#failures >= this.#options.failures) this.#open(detail, nowMs)
    }
  }

  /** The request says nothing of the provider's health; a probe is then still due. */
  undecided(isProbe: boolean, nowMs: number): void {
    if (!isProbe) return
    this.#state = 'open'
    this.#probeAt = nowMs
  }

  #open(detail: string, nowMs: number): void {
    const { random, changed, openMs } = this.#options
    const isNew = this.#state === 'closed'
    this.#state = 'open'
    this.#detail = detail
    this.#probeAt = nowMs + this.#openMs * (0.75 + 0.25 * random())
    this.#openMs = Math.min(this.#openMs * 2, Math.max(longestOpenMs, openMs))
    if (isNew) changed(true, detail)
  }

  #close(): void {
    this.#state = 'closed'
    this.#failures = 0
    this.#openMs = this.#options.openMs
    this.#options.changed(false, this.#detail)
  }
}
