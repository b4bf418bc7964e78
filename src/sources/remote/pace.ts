/**
 * When the next request of one question may leave: after a moment in which others can join, at the
 * provider's rate, with few under way, and not while it is left alone. Keeps no timer.
 */
import { Circuit } from './circuit.js'
import { circuitOpen, type NoAnswer, rateLimited } from './no-answer.js'
import type { ProviderNews } from './provider-news.js'
import type { ProviderBasics, ProviderLimits, QuestionLimits } from './provider-options.js'
import { TokenBucket } from './token-bucket.js'

/** What waits and what is under way. */
export interface Traffic {
  readonly isEmpty: boolean
  /** Somebody waits for one that is queued. */
  readonly isUrgent: boolean
  readonly requests: number
}

/** Thousands of numbers to warm come over some turns of the loop and should leave together. */
const backgroundGatherMs = 250

/** A network that holds requests back for longer than that loses them. */
const longestSlackMs = 5_000

export class Pace {
  readonly circuit: Circuit
  readonly #bucket: TokenBucket
  readonly #limits: ProviderLimits
  /** Absent when nothing waits for others to join, or all have waited. */
  #gatheredAtMs: number | undefined

  constructor(
    options: Pick<ProviderBasics, 'limits' | 'random'>,
    { requestsPerMinute, deadlineMs }: QuestionLimits,
    news: Pick<ProviderNews, 'circuit'>,
  ) {
    this.#limits = options.limits
    this.#bucket = new TokenBucket(requestsPerMinute, Math.min(deadlineMs, longestSlackMs))
    this.circuit = new Circuit({
      failures: options.limits.circuitFailures,
      openMs: options.limits.circuitOpenMs,
      random: options.random,
      changed: (open, detail) => news.circuit(open, detail),
    })
  }

  /** Why nothing may leave, and nothing may wait for it. */
  shut(nowMs: number): NoAnswer | undefined {
    const state = this.circuit.state(nowMs)
    if (state === 'closed' || state === 'due') return undefined
    return circuitOpen(this.circuit.detail)
  }

  /** Why no request will leave before the deadline. */
  tooSlow(nowMs: number, deadlineMs: number): NoAnswer | undefined {
    const waitMs = this.#bucket.waitMs(nowMs)
    return nowMs + waitMs < deadlineMs ? undefined : rateLimited(waitMs)
  }

  /** A question has come: until when it waits for others; absent when that is settled already. */
  gather(nowMs: number, isUrgent: boolean): number | undefined {
    const { coalesceMs } = this.#limits
    const atMs = nowMs + (isUrgent ? coalesceMs : Math.max(coalesceMs, backgroundGatherMs))
    if (this.#gatheredAtMs !== undefined && this.#gatheredAtMs <= atMs) return undefined
    this.#gatheredAtMs = atMs
    return atMs
  }

  /** Those in the queue need not wait for others. */
  gathered(nowMs: number): void {
    this.#gatheredAtMs = nowMs
  }

  /** Milliseconds until the next request may leave; infinity when an event decides. */
  waitMs(nowMs: number, { isEmpty, isUrgent, requests }: Traffic): number {
    if (isEmpty) return Number.POSITIVE_INFINITY
    const gatheredAtMs = this.#gatheredAtMs ?? nowMs
    if (gatheredAtMs > nowMs) return gatheredAtMs - nowMs
    const { maxRequests } = this.#limits
    // What nobody waits for leaves half of the connections and of the burst to others.
    const mostRequests = isUrgent ? maxRequests : Math.max(1, Math.floor(maxRequests / 2))
    if (requests >= mostRequests) return Number.POSITIVE_INFINITY
    return this.#bucket.waitMs(nowMs, isUrgent ? 0 : this.#bucket.burst / 2)
  }

  /** All that may leave have left. */
  rest(nowMs: number, { isEmpty, isUrgent }: Traffic): void {
    const isGathering = this.#gatheredAtMs !== undefined && this.#gatheredAtMs > nowMs
    if (isEmpty || !(isUrgent || isGathering)) this.#gatheredAtMs = undefined
  }

  /** A request leaves now: whether it is a probe. */
  leaves(nowMs: number): boolean {
    this.#bucket.take(nowMs)
    return this.circuit.begin()
  }

  /** The provider asks to be left alone: how long nothing leaves, and why. */
  pause(nowMs: number, ms: number): { readonly waitMs: number; readonly why: NoAnswer } {
    this.#bucket.pause(nowMs, ms)
    const waitMs = this.#bucket.waitMs(nowMs)
    return { waitMs, why: rateLimited(waitMs) }
  }
}
