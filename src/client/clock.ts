/** Time on the machine of the caller; only differences are used, so a wrong clock does no harm. */

export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function now(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/**
 * Milliseconds since a moment. The greater of both clocks: the monotonic one stands still while a virtual
 * machine is suspended, and the other may be set back.
 */
export function elapsedMs(since: Moment): number {
  const { monotonicMs, wallMs } = now()
  return Math.max(monotonicMs - since.monotonicMs, wallMs - since.wallMs)
}

const instantPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/
const httpDatePattern = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/** Milliseconds since 1970 of `2026-11-23T17:00:00Z`; `undefined` for anything else. */
export function parseInstant(text: string): number | undefined {
  return instantPattern.test(text) ? finite(Date.parse(text)) : undefined
}

/** The same for a `Date` header. */
export function parseHttpDate(text: string): number | undefined {
  return httpDatePattern.test(text) ? finite(Date.parse(text)) : undefined
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined
}
