/**
 * How many requests and how many numbers a minute an account may send to each class of calls
 * (`limits.*PerMinute`), and how many bulk calls it may have in progress. The limits are those of one
 * process: several servers behind one address each allow as many.
 */
import type { RateClass } from '../../api/endpoint.js'
import type { Timers } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { MinuteWindow, msPerMinute } from './minute-window.js'

export interface RateLimitsOptions {
  /** Requests in any 60 seconds; 0 is no limit. */
  readonly perMinute: Readonly<Record<RateClass, number>>
  /** Numbers in any 60 seconds; 0 or absent is no limit. */
  readonly numbersPerMinute: Readonly<Partial<Record<RateClass, number>>>
  readonly timers: Pick<Timers, 'monotonicMs'>
}

/** A request with more numbers than this is a bulk call. */
export const bulkCallThreshold = 200
/** Bulk calls of one account that may be in progress at once. */
const maxBulkCalls = 2

/** A request whose numbers may be processed. */
export interface NumberAdmission {
  /** How many numbers the account may still send, for the answer; empty where there is no limit. */
  readonly headers: Readonly<Record<string, string>>
  /** To be called once, when the answer has left or its connection is gone. */
  readonly release: () => void
}

const noRelease = () => undefined

export class RateLimits {
  readonly #options: RateLimitsOptions
  /** What was taken in the last minute, by class and account. */
  readonly #windows = new Map<string, MinuteWindow>()
  /** Bulk calls in progress, by account. */
  readonly #bulkCalls = new Map<string, number>()
  #sweptAtMs: number

  constructor(options: RateLimitsOptions) {
    this.#options = options
    this.#sweptAtMs = options.timers.monotonicMs()
  }

  /** Accounts with recent requests, once for each class and limit. */
  get size(): number {
    return this.#windows.size
  }

  /**
   * Counts a request. Throws `rate-limited` when the account has made as many of the class within
   * the last 60 seconds as it may. What is refused does not count, so a client that keeps asking is
   * served as soon as there is room.
   */
  takeRequest(accountId: string, rate: RateClass): void {
    const most = this.#options.perMinute[rate]
    if (most === 0) return
    const now = this.#options.timers.monotonicMs()
    this.#removeIdle(now)
    const retryAfterSeconds = this.#windowFor(`${rate} ${accountId}`).tryAdd(most, now)
    if (retryAfterSeconds === undefined) return
    const limit = `${most} ${most === 1 ? 'request' : 'requests'} a minute of class ${rate}`
    const message =
      `Too many requests: this account may make ${limit}; ` +
      `try again in ${retryAfterSeconds} seconds`
    throw new AppError('rate-limited', message, { retryAfterSeconds })
  }

  /**
   * Counts the numbers of a request that has been read, before any work is done for them. Throws
   * `rate-limited` when the account has sent too many within the last 60 seconds, or when the request
   * is a bulk call and {@link maxBulkCalls} of the account are in progress; what is refused does not
   * count.
   */
  admitNumbers(accountId: string, rate: RateClass | undefined, count: number): NumberAdmission {
    const isBulk = count > bulkCallThreshold
    if (isBulk) this.#refuseBulk(accountId)
    const headers = rate === undefined ? {} : this.#takeNumbers(accountId, rate, count)
    if (!isBulk) return { headers, release: noRelease }
    this.#bulkCalls.set(accountId, this.#countBulkCalls(accountId) + 1)
    return { headers, release: () => this.#endBulk(accountId) }
  }

  #countBulkCalls(accountId: string): number {
    return this.#bulkCalls.get(accountId) ?? 0
  }

  #refuseBulk(accountId: string): void {
    if (this.#countBulkCalls(accountId) < maxBulkCalls) return
    const message =
      `Too many bulk calls: this account has ${maxBulkCalls} calls with more than ` +
      `${bulkCallThreshold} numbers each in progress, which is the maximum; send the next one when one of ` +
      'them has been answered'
    throw new AppError('rate-limited', message, { retryAfterSeconds: 1 })
  }

  #endBulk(accountId: string): void {
    const left = this.#countBulkCalls(accountId) - 1
    if (left > 0) this.#bulkCalls.set(accountId, left)
    else this.#bulkCalls.delete(accountId)
  }

  /** The fields of draft-ietf-httpapi-ratelimit-headers, for the answer. */
  #takeNumbers(accountId: string, rate: RateClass, count: number): NumberAdmission['headers'] {
    const most = this.#options.numbersPerMinute[rate] ?? 0
    if (most === 0) return {}
    const now = this.#options.timers.monotonicMs()
    this.#removeIdle(now)
    const window = this.#windowFor(`${rate}-numbers ${accountId}`)
    const retryAfterSeconds = window.tryAdd(most, now, count)
    const left = most - window.countAt(now)
    if (retryAfterSeconds === undefined) {
      return {
        'RateLimit-Policy': `"numbers";q=${most};w=${msPerMinute / 1000}`,
        RateLimit: `"numbers";r=${left}`,
      }
    }
    const message =
      `Too many numbers: this account may send ${most} a minute to class ${rate}; ${left} are left ` +
      `and the request has ${count}; try again in ${retryAfterSeconds} seconds`
    throw new AppError('rate-limited', message, { retryAfterSeconds })
  }

  #windowFor(key: string): MinuteWindow {
    const known = this.#windows.get(key)
    if (known) return known
    const made = new MinuteWindow()
    this.#windows.set(key, made)
    return made
  }

  /** Once a minute. */
  #removeIdle(now: number): void {
    if (now - this.#sweptAtMs < msPerMinute) return
    this.#sweptAtMs = now
    for (const [key, taken] of this.#windows) {
      if (taken.countAt(now) === 0) this.#windows.delete(key)
    }
  }
}
