/** A clock that stands until the test moves it. */
import { type Clock, type Instant, parseInstant } from '../../src/domain/clock.js'

export interface TestClock extends Clock {
  set(text: string): void
  advance(milliseconds: number): void
}

export function testClock(text = '2026-11-20T12:00:00Z'): TestClock {
  let at: Instant = instant(text)
  return {
    now: () => at,
    set: (next) => {
      at = instant(next)
    },
    advance: (milliseconds) => {
      at += milliseconds
    },
  }
}

/** An instant of the test, which must be readable. */
export function instant(text: string): Instant {
  const at = parseInstant(text)
  if (at === undefined) throw new TypeError(`'${text}' is no instant`)
  return at
}
