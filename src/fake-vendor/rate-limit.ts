/** The vendor's own limit: so many requests of a question in any 60 seconds, the rest refused. */
import { MinuteWindow } from '../http/minute-window.js'
import type { RequestTarget } from './target.js'

export class RateLimit {
  readonly #perMinute: number
  #accepted = new Map<RequestTarget, MinuteWindow>()

  /** Infinity for no limit. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /**
   * Counts a request, or gives the seconds after which one would be taken. What is refused does not
   * count, so a client that keeps asking is served again as soon as there is room.
   */
  refusal(target: RequestTarget, now: number): number | undefined {
    if (this.#perMinute === Number.POSITIVE_INFINITY) return undefined
    const accepted = this.#accepted.get(target) ?? new MinuteWindow()
    this.#accepted.set(target, accepted)
    return accepted.addWithin(this.#perMinute, now)
  }

  reset(): void {
    this.#accepted = new Map()
  }
}
