/** The delay before a request is retried: our own backoff, or what the provider asks for. */
import type { Instant } from '../../../domain/time/clock.js'
import { computeBackoffMs, parseRetryAfter } from '../../../runtime/backoff.js'

const retryDelay = { firstMs: 100, maxMs: 2_000 }

/** The delay doubles with each attempt; half of it is random, so that retries are spread out. */
export function computeRetryDelayMs(attempt: number, random: () => number): number {
  return computeBackoffMs(attempt, retryDelay) * (0.5 + 0.5 * random())
}

const defaultRetryAfterMs = 10_000
const minRetryAfterMs = 1_000
const maxRetryAfterMs = 600_000

/**
 * Parses `Retry-After`, in seconds or as an HTTP date (RFC 9110, 10.2.3), to milliseconds: clamped to
 * between a second and ten minutes; ten seconds if absent or invalid.
 */
export function parseRetryAfterMs(header: string | undefined, now: Instant): number {
  const requestedMs = parseRetryAfter(header, now)
  return Math.min(maxRetryAfterMs, Math.max(minRetryAfterMs, requestedMs ?? defaultRetryAfterMs))
}
