/**
 * Decides when the next request of one question may leave: after a short wait for more questions,
 * within the provider's rate limit, with a limited number in flight, and not while the circuit is
 * open. Has no timer.
 */

import {
  createCircuitOpenFailure,
  createRateLimitedFailure,
  type QuestionFailure,
} from '../client/question-failure.js'
import type { ProviderBaseOptions, ProviderLimits, QuestionLimits } from '../provider-options.js'
import { CircuitBreaker } from './circuit-breaker.js'
import type { ProviderEvents } from './provider-events.js'
import { TokenBucket } from './token-bucket.js'

/** The state of the queue and of the requests in flight. */
export interface QueueState {
  readonly isEmpty: boolean
  /** Whether an urgent question is queued. */
  readonly hasUrgent: boolean
  readonly requestsInFlight: number
}

/** Warmup questions arrive over several turns of the event loop and should be sent together. */
const backgroundCoalesceMs = 250

/** Requests that are delayed longer in the network are usually lost. */
const maxSlackMs = 5_000

export class RequestScheduler {
  readonly circuit: CircuitBreaker
  readonly #bucket: TokenBucket
  readonly #limits: ProviderLimits
  /** When the wait for more questions ends; absent if there is no wait. */
  #coalescedAtMs: number | undefined

  constructor(
    options: Pick<ProviderBaseOptions, 'limits' | 'random'>,
    { requestsPerMinute, deadlineMs }: QuestionLimits,
    events: Pick<ProviderEvents, 'onCircuitChange'>,
  ) {
    this.#limits = options.limits
    this.#bucket = new TokenBucket(requestsPerMinute, Math.min(deadlineMs, maxSlackMs))
    this.circuit = new CircuitBreaker({
      maxFailures: options.limits.circuitFailures,
      openMs: options.limits.circuitOpenMs,
      random: options.random,
      onChange: (open, detail) => events.onCircuitChange(open, detail),
    })
  }

  /** The share of the rate limit's burst that is left, from 0 to 1. */
  getRateBudget(nowMs: number): number {
    return this.#bucket.getFillRatio(nowMs)
  }

  /** Why no request may leave while the circuit is open. */
  findCircuitRejection(nowMs: number): QuestionFailure | undefined {
    const state = this.circuit.getState(nowMs)
    if (state === 'closed' || state === 'due') return undefined
    return createCircuitOpenFailure(this.circuit.detail)
  }

  /** Why no request can leave before the deadline. */
  findRateRejection(nowMs: number, deadlineMs: number): QuestionFailure | undefined {
    const waitMs = this.#bucket.getWaitMs(nowMs)
    return nowMs + waitMs < deadlineMs ? undefined : createRateLimitedFailure(waitMs)
  }

  /** Returns until when a new question waits for others; `undefined` if an earlier wait applies. */
  startCoalescing(nowMs: number, isUrgent: boolean): number | undefined {
    const { coalesceMs } = this.#limits
    const atMs = nowMs + (isUrgent ? coalesceMs : Math.max(coalesceMs, backgroundCoalesceMs))
    if (this.#coalescedAtMs !== undefined && this.#coalescedAtMs <= atMs) return undefined
    this.#coalescedAtMs = atMs
    return atMs
  }

  /** Ends the wait, so that the queued questions can leave. */
  endCoalescing(nowMs: number): void {
    this.#coalescedAtMs = nowMs
  }

  /** Milliseconds until the next request may leave; infinity if it depends on an event. */
  getWaitMs(nowMs: number, { isEmpty, hasUrgent, requestsInFlight }: QueueState): number {
    if (isEmpty) return Number.POSITIVE_INFINITY
    const gatheredAtMs = this.#coalescedAtMs ?? nowMs
    if (gatheredAtMs > nowMs) return gatheredAtMs - nowMs
    const { maxRequests } = this.#limits
    // Background questions use only half of the connections and of the burst.
    const maxInFlight = hasUrgent ? maxRequests : Math.max(1, Math.floor(maxRequests / 2))
    if (requestsInFlight >= maxInFlight) return Number.POSITIVE_INFINITY
    return this.#bucket.getWaitMs(nowMs, hasUrgent ? 0 : this.#bucket.burst / 2)
  }

  /** Must be called when all requests that may leave have left. */
  finishSending(nowMs: number, { isEmpty, hasUrgent }: QueueState): void {
    const isGathering = this.#coalescedAtMs !== undefined && this.#coalescedAtMs > nowMs
    if (isEmpty || !(hasUrgent || isGathering)) this.#coalescedAtMs = undefined
  }

  /** Must be called when a request leaves. Returns whether it is a probe. */
  recordSend(nowMs: number): boolean {
    this.#bucket.take(nowMs)
    return this.circuit.startRequest()
  }

  /** Starts a pause requested by the provider; returns its actual length and its reason. */
  pause(nowMs: number, ms: number): { readonly waitMs: number; readonly why: QuestionFailure } {
    this.#bucket.pause(nowMs, ms)
    const waitMs = this.#bucket.getWaitMs(nowMs)
    return { waitMs, why: createRateLimitedFailure(waitMs) }
  }
}
