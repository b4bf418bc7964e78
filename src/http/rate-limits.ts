/**
 * How many requests and how many numbers a minute an account may send to each class of calls
 * (`limits.*PerMinute`), and how many bulk calls it may have under way. The limits are those of one
 * process: several servers behind one address each allow as many.
 */
import type { RateClass } from '../api/endpoint.js'
import type { Timers } from '../domain/clock.js'
import { AppError } from '../errors.js'
import { MinuteWindow, minuteMs } from './minute-window.js'

export interface RateLimitsOptions {
  /** Requests in any 60 seconds; 0 is no limit. */
  readonly perMinute: Readonly<Record<RateClass, number>>
  /** Numbers in any 60 seconds; 0 or absent is no limit. */
  readonly numbersPerMinute: Readonly<Partial<Record<RateClass, number>>>
  readonly timers: Pick<Timers, 'monotonicMs'>
}

/** A request with more numbers than this is a bulk call. */
export const bulkCallNumbers = 200
/** Bulk calls of one account that may be under way at once. */
export const maxBulkCalls = 2

/** A request whose numbers may be worked on. */
export interface AdmittedNumbers {
  /** How many numbers the account may still send, for the answer; empty where there is no limit. */
  readonly headers: Readonly<Record<string, string>>
  /** To be called once, when the answer has left or its connection is gone. */
  readonly end: () => void
}

const nothingToEnd = () => undefined

export class RateLimits {
  readonly #options: RateLimitsOptions
  /** What was taken lately, by class and account. */
  readonly #taken = new Map<string, MinuteWindow>()
  /** Bulk calls under way, by account. */
  readonly #bulkCalls = new Map<string, number>()
  #sweptAtMs: number

  constructor(options: RateLimitsOptions) {
    this.#options = options
    this.#sweptAtMs = options.timers.monotonicMs()
  }

  /** Accounts that were asked for lately, once for each class and limit. */
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

  /**
   * Counts the numbers of a request that has been read, before any work is done for them. Throws
   * `rate-limited` when the account has sent too many within the last 60 seconds, or when the request
   * is a bulk call and {@link maxBulkCalls} of the account are under way; what is refused does not
   * count.
   */
  admitNumbers(accountId: string, rate: RateClass | undefined, count: number): AdmittedNumbers {
    const isBulk = count > bulkCallNumbers
    if (isBulk) this.#refuseBulk(accountId)
    const headers = rate === undefined ? {} : this.#takeNumbers(accountId, rate, count)
    if (!isBulk) return { headers, end: nothingToEnd }
    this.#bulkCalls.set(accountId, this.#underWay(accountId) + 1)
    return { headers, end: () => this.#endBulk(accountId) }
  }

  #underWay(accountId: string): number {
    return this.#bulkCalls.get(accountId) ?? 0
  }

  #refuseBulk(accountId: string): void {
    if (this.#underWay(accountId) < maxBulkCalls) return
    const message =
      `Too many bulk calls: this account has ${maxBulkCalls} calls with more than ` +
      `${bulkCallNumbers} numbers each under way, which is the limit; send the next one when one of ` +
      'them has been answered'
    throw new AppError('rate-limited', message, { retryAfterSeconds: 1 })
  }

  #endBulk(accountId: string): void {
    const left = this.#underWay(accountId) - 1
    if (left > 0) this.#bulkCalls.set(accountId, left)
    else this.#bulkCalls.delete(accountId)
  }

  /** The fields of draft-ietf-httpapi-ratelimit-headers, for the answer. */
  #takeNumbers(accountId: string, rate: RateClass, count: number): AdmittedNumbers['headers'] {
    const most = this.#options.numbersPerMinute[rate] ?? 0
    if (most === 0) return {}
    const now = this.#options.timers.monotonicMs()
    this.#forgetSilent(now)
    const window = this.#takenOf(`${rate}-numbers ${accountId}`)
    const retryAfterSeconds = window.addWithin(most, now, count)
    const left = most - window.countAt(now)
    if (retryAfterSeconds === undefined) {
      return {
        'RateLimit-Policy': `"numbers";q=${most};w=${minuteMs / 1000}`,
        RateLimit: `"numbers";r=${left}`,
      }
    }
    const message =
      `Too many numbers: this account may send ${most} a minute to class ${rate}; ${left} are left ` +
      `and the request holds ${count}; come back in ${retryAfterSeconds} seconds`
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
