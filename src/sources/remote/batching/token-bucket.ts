/**
 * A rate limiter: when the next request may leave, so that a provider's limit holds in any period of
 * a minute. Has neither a timer nor a clock.
 */

const minuteMs = 60_000
const defaultSlackMs = 1_000

/** Larger than the rounding errors of sums of intervals; the slack is a million times larger. */
const roundingMs = 0.001

/**
 * A bucket of `burst` tokens that gains one every `intervalMs`. In any period of a minute at most
 * `burst + (limit - burst)` tokens can be taken.
 */
export class TokenBucket {
  /** Capacity of the bucket: about a tenth of the limit. */
  readonly burst: number
  readonly #intervalMs: number
  /** When the bucket is full again; in the past if it is full. */
  #fullAt = Number.NEGATIVE_INFINITY

  /**
   * `requestsPerMinute` is a positive whole number. Requests that leave a minute apart may arrive closer
   * together, and the provider counts arrivals. The limit is therefore kept over a minute plus
   * `slackMs`, the longest time that a request takes to arrive.
   */
  constructor(requestsPerMinute: number, slackMs = defaultSlackMs) {
    this.burst = Math.max(Math.min(2, requestsPerMinute), Math.floor(requestsPerMinute / 10))
    this.#intervalMs = (minuteMs + slackMs) / (requestsPerMinute - this.burst + 1)
  }

  /**
   * Whole milliseconds until a token can be taken with `left` others remaining; 0 if it can be taken
   * now. Never waits longer than until the bucket is full.
   */
  getWaitMs(nowMs: number, left = 0): number {
    const tokens = Math.min(this.burst, 1 + left)
    const at = this.#fullAt - (this.burst - tokens) * this.#intervalMs
    return Math.max(0, Math.ceil(at - nowMs - roundingMs))
  }

  /** The share of the capacity that can be taken now, from 0 to 1. */
  getFillRatio(nowMs: number): number {
    const missing = Math.max(0, this.#fullAt - nowMs) / this.#intervalMs
    return Math.max(0, 1 - missing / this.burst)
  }

  /** Takes a token; call it only if {@link getWaitMs} is 0. */
  take(nowMs: number): void {
    this.#fullAt = Math.max(this.#fullAt, nowMs) + this.#intervalMs
  }

  /** Provides no token for that time, then a single one, so that requests do not resume with a burst. */
  pause(nowMs: number, ms: number): void {
    this.#fullAt = Math.max(this.#fullAt, nowMs + ms + (this.burst - 1) * this.#intervalMs)
  }
}
