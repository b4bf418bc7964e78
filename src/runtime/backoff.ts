/** How long to wait before the next attempt: our own backoff, or what the other side asks for. */
import type { Instant } from '../domain/time/clock.js'
import { parseHttpDate } from '../domain/time/http-date.js'

/** Doubles with each attempt; the first attempt is 1. */
export function computeBackoffMs(
  attempt: number,
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
): number {
  return Math.min(maxMs, firstMs * 2 ** (attempt - 1))
}

/**
 * Parses the header `Retry-After`, in seconds or as an HTTP date (RFC 9110, 10.2.3), to milliseconds;
 * negative for a date in the past, `undefined` when it is absent or invalid.
 */
export function parseRetryAfter(header: string | undefined, now: Instant): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const at = parseHttpDate(text)
  return at === undefined ? undefined : at - now
}
