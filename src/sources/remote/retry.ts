/** How long to wait before a request is repeated: by our own reckoning, or as the provider says. */
import { type Instant, parseHttpDate } from '../../domain/clock.js'

const firstMs = 100
const longestMs = 2_000

/** Doubles with each attempt, from the first; half of it is chance, so that not all come at once. */
export function retryWaitMs(attempt: number, random: () => number): number {
  const mostMs = Math.min(longestMs, firstMs * 2 ** (attempt - 1))
  return mostMs * (0.5 + 0.5 * random())
}

const unsaidMs = 10_000
const shortestPauseMs = 1_000
const longestPauseMs = 600_000

/**
 * Milliseconds that the header `Retry-After` asks for, in seconds or as an HTTP date (RFC 9110,
 * 10.2.3): from a second to ten minutes; ten seconds when it is absent or cannot be read.
 */
export function retryAfterMs(header: string | undefined, now: Instant): number {
  const saidMs = header === undefined ? undefined : saidIn(header.trim(), now)
  return Math.min(longestPauseMs, Math.max(shortestPauseMs, saidMs ?? unsaidMs))
}

function saidIn(text: string, now: Instant): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const at = parseHttpDate(text)
  return at === undefined ? undefined : at - now
}
