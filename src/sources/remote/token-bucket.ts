/**
 * How soon one more request may leave, so that a provider's limit holds in every minute however one
 * lays it. It only reckons: no timer, no clock of its own. What is sent is left to others.
 */

const minuteMs = 60_000
const usualSlackMs = 1_000

/** Sums of intervals are off by less; the longer minute makes up for it a million times. */
const roundingMs = 0.001

/**
 * A bucket of `burst` tokens that fills by one every `intervalMs`. In any stretch of a minute at
 * most `burst + (limit - burst)` tokens can be taken.
 */
export class TokenBucket {
  /** Tokens of a full bucket: about a tenth of the limit. */
  readonly burst: number
  readonly #intervalMs: number
  /** When the bucket is full again; in the past when it is. */
  #fullAt = Number.NEGATIVE_INFINITY

  /**
   * `requestsPerMinute` is a whole number from 1. Requests that leave a minute apart may arrive
   * closer together, and the provider counts what arrives: the limit is kept over a minute and
   * `slackMs`, the longest that one is under way.
   */
  constructor(requestsPerMinute: number, slackMs = usualSlackMs) {
    this.burst = Math.max(Math.min(2, requestsPerMinute), Math.floor(requestsPerMinute / 10))
    this.#intervalMs = (minuteMs + slackMs) / (requestsPerMinute - this.burst + 1)
  }

  /**
   * Whole milliseconds until a token can be taken and `left` others stay behind; 0 when that is so
   * now. No more than a full bucket is ever waited for.
   */
  waitMs(nowMs: number, left = 0): number {
    const tokens = Math.min(this.burst, 1 + left)
    const at = this.#fullAt - (this.burst - tokens) * this.#intervalMs
    return Math.max(0, Math.ceil(at - nowMs - roundingMs))
  }

  /** Takes a token; only when {@link waitMs} is 0. */
  take(nowMs: number): void {
    this.#fullAt = Math.max(this.#fullAt, nowMs) + this.#intervalMs
  }

  /** Gives no token for that long, and then one: who was told to wait does not begin with a burst. */
  pause(nowMs: number, ms: number): void {
    this.#fullAt = Math.max(this.#fullAt, nowMs + ms + (this.burst - 1) * this.#intervalMs)
  }
}
