/**
 * How many requests a minute an account may make of each class of calls (`limits.*PerMinute`). The
 * limits are those of one process: several servers behind one address each allow as many.
 */
import type { RateClass } from '../api/endpoint.js'
import type { Timers } from '../domain/clock.js'
import { AppError } from '../errors.js'
import { MinuteWindow, minuteMs } from './minute-window.js'

export interface RateLimitsOptions {
  /** Requests in any 60 seconds; 0 is no limit. */
  readonly perMinute: Readonly<Record<RateClass, number>>
  readonly timers: Pick<Timers, 'monotonicMs'>
}

export class RateLimits {
  readonly #options: RateLimitsOptions
  /** What was taken lately, by class and account. */
  readonly #taken = new Map<string, MinuteWindow>()
  #sweptAtMs: number

  constructor(options: RateLimitsOptions) {
    this.#options = options
    this.#sweptAtMs = options.timers.monotonicMs()
  }

  /** Accounts that were asked for lately, once for each class. */
  get size(): number {
    return this.#taken.size
  }

  /**
   * Counts a request. Throws `rate-limited` when the account has made as many of the class within
   * the last 60 seconds as it may. What is refused does not count, so a client that keeps asking is
   * served as soon as there is room.
   */
  take(accountId: string, rate: RateClass): void {
    const most = this.#options.perMinute[rate]
    if (most === 0) return
    const now = this.#options.timers.monotonicMs()
    this.#forgetSilent(now)
    const retryAfterSeconds = this.#takenOf(`${rate} ${accountId}`).addWithin(most, now)
    if (retryAfterSeconds === undefined) return
    const message =
      `Too many requests: this account may make ${most} a minute of class ${rate}; ` +
      `come back in ${retryAfterSeconds} seconds`
    throw new AppError('rate-limited', message, { retryAfterSeconds })
  }

  #takenOf(key: string): MinuteWindow {
    const known = this.#taken.get(key)
    if (known) return known
    const made = new MinuteWindow()
    this.#taken.set(key, made)
    return made
  }

  /** Once a minute. */
  #forgetSilent(now: number): void {
    if (now - this.#sweptAtMs < minuteMs) return
    this.#sweptAtMs = now
    for (const [key, taken] of this.#taken) {
      if (taken.countAt(now) === 0) this.#taken.delete(key)
    }
  }
}
