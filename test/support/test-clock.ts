/** A clock that stands until the test moves it. */
import type { Clock, Instant, Timers } from '../../src/domain/time/clock.js'
import { parseInstant } from '../../src/domain/time/dates.js'

/** Its monotonic clock goes with it, and stands while it is set back. */
export interface TestClock extends Clock, Pick<Timers, 'monotonicMs'> {
  set(text: string): void
  advance(milliseconds: number): void
}

export function testClock(text = '2026-11-20T12:00:00Z'): TestClock {
  let at: Instant = instant(text)
  let elapsedMs = 0
  const moveTo = (next: Instant) => {
    elapsedMs += Math.max(0, next - at)
    at = next
  }
  return {
    now: () => at,
    monotonicMs: () => elapsedMs,
    set: (next) => moveTo(instant(next)),
    advance: (milliseconds) => moveTo(at + milliseconds),
  }
}

/** An instant of the test, which must be readable. */
export function instant(text: string): Instant {
  const at = parseInstant(text)
  if (at === undefined) throw new TypeError(`'${text}' is no instant`)
  return at
}
