/** The delay before a request is retried: our own backoff, or what the provider asks for. */
import type { Instant } from '../../../domain/time/clock.js'
import { computeBackoffMs, parseRetryAfter } from '../../../runtime/backoff.js'

const retryDelay = { firstMs: 100, maxMs: 2_000 }

/** Doubles with each attempt; half of it is random, so that retries are spread. */
export function computeRetryDelayMs(attempt: number, random: () => number): number {
  return computeBackoffMs(attempt, retryDelay) * (0.5 + 0.5 * random())
}

const defaultRetryAfterMs = 10_000
const minRetryAfterMs = 1_000
const maxRetryAfterMs = 600_000

/**
 * Milliseconds that the header `Retry-After` asks for, in seconds or as an HTTP date (RFC 9110,
 * 10.2.3): from a second to ten minutes; ten seconds when it is absent or invalid.
 */
export function parseRetryAfterMs(header: string | undefined, now: Instant): number {
  const requestedMs = parseRetryAfter(header, now)
  return Math.min(maxRetryAfterMs, Math.max(minRetryAfterMs, requestedMs ?? defaultRetryAfterMs))
}
