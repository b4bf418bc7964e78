/**
 * How many requests and how many numbers a minute an account may send to each class of calls
 * (`limits.*PerMinute`), and how many bulk calls it may have in progress. Servers that share a database
 * also share the limits a minute; the bulk calls are those of one process.
 */
import type { RateClass } from '../../api/endpoint.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { Timers } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { MinuteWindow, msPerMinute } from './minute-window.js'
import type { SharedMinutes, Taken } from './shared-minutes.js'

export interface RateLimitsOptions {
  /** With them, the limits are those of all servers together, in each minute of the clock. */
  readonly shared?: SharedMinutes | undefined
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
   * served as soon as there is room. Shared limits are counted later, and reject with `not-available` without
   * the database.
   */
  takeRequest(accountId: string, rate: RateClass): MaybePromise<void> {
    const most = this.#options.perMinute[rate]
    if (most === 0) return
    const admit = ({ retryAfterSeconds }: Taken) => {
      if (retryAfterSeconds === undefined) return
      const limit = `${most} ${most === 1 ? 'request' : 'requests'} a minute of class ${rate}`
      const message =
        `Too many requests: this account may make ${limit}; ` +
        `try again in ${retryAfterSeconds} seconds`
      throw new AppError('rate-limited', message, { retryAfterSeconds })
    }
    const taken = this.#take(`${rate} ${accountId}`, most, 1)
    return taken instanceof Promise ? taken.then(admit) : admit(taken)
  }

  /**
   * Counts the numbers of a request that has been read, before any work is done for them. Throws
   * `rate-limited` when the account has sent too many within the last 60 seconds, or when the request
   * is a bulk call and {@link maxBulkCalls} of the account are in progress; what is refused does not
   * count. Shared limits as with {@link takeRequest}.
   */
  admitNumbers(
    accountId: string,
    rate: RateClass | undefined,
    count: number,
  ): MaybePromise<NumberAdmission> {
    const release = count > bulkCallThreshold ? this.#beginBulk(accountId) : noRelease
    const refuse = (cause: unknown) => {
      release()
      throw cause
    }
    try {
      const headers = rate === undefined ? {} : this.#takeNumbers(accountId, rate, count)
      if (!(headers instanceof Promise)) return { headers, release }
      return headers.then((found) => ({ headers: found, release }), refuse)
    } catch (cause) {
      return refuse(cause)
    }
  }

  #countBulkCalls(accountId: string): number {
    return this.#bulkCalls.get(accountId) ?? 0
  }

  /** Returns what ends it. */
  #beginBulk(accountId: string): () => void {
    const count = this.#countBulkCalls(accountId)
    if (count < maxBulkCalls) {
      this.#bulkCalls.set(accountId, count + 1)
      return () => this.#endBulk(accountId)
    }
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
  #takeNumbers(
    accountId: string,
    rate: RateClass,
    count: number,
  ): MaybePromise<NumberAdmission['headers']> {
    const most = this.#options.numbersPerMinute[rate] ?? 0
    if (most === 0) return {}
    const admit = ({ retryAfterSeconds, left }: Taken) => {
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
    const taken = this.#take(`${rate}-numbers ${accountId}`, most, count)
    return taken instanceof Promise ? taken.then(admit) : admit(taken)
  }

  #take(key: string, most: number, amount: number): MaybePromise<Taken> {
    const { shared, timers } = this.#options
    if (shared) return shared.take(key, most, amount)
    const now = timers.monotonicMs()
    this.#removeIdle(now)
    const window = this.#windowFor(key)
    const retryAfterSeconds = window.tryAdd(most, now, amount)
    return { retryAfterSeconds, left: most - window.countAt(now) }
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
