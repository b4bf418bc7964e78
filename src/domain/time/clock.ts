/**
 * Time as an argument: everything that needs the current time gets a {@link Clock}.
 */

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number

/** Days since 1970-01-01 on a local calendar; Sunday is weekday 0. */
export type LocalDay = number

export interface Clock {
  now(): Instant
}

/** One reading of two clocks. */
export interface ClockReading {
  /** On the account's clock. */
  readonly now: Instant
  /** On the clock of the {@link Timers}. */
  readonly monotonicMs: number
}

/** A clock that always shows one instant, for what-if decisions and the sandbox setting. */
export function fixedClock(at: Instant): Clock {
  return { now: () => at }
}

/**
 * Timestamps that order writes: the clock's time, but each one later than the last, even when the
 * clock goes back or two fall in one millisecond.
 */
export function monotonicTimestamps(clock: Clock): Clock {
  let last = Number.NEGATIVE_INFINITY
  return {
    now() {
      last = Math.max(clock.now(), last + 1)
      return last
    },
  }
}

/**
 * A clock that never goes back: after `clock` is set back, it continues from its latest reading with
 * the monotonic clock. For deadlines that setting the time must not undo.
 */
export function monotonicClock(clock: Clock, timers: Pick<Timers, 'monotonicMs'>): Clock {
  let aheadMs = Number.NEGATIVE_INFINITY
  return {
    now() {
      const elapsedMs = timers.monotonicMs()
      aheadMs = Math.max(aheadMs, clock.now() - elapsedMs)
      return Math.floor(elapsedMs + aheadMs)
    },
  }
}

/** Timers as an argument, so that tests can let hours pass instantly. */
export interface Timers {
  /** Milliseconds on a clock that never jumps; only differences are meaningful. */
  monotonicMs(): number
  /** Runs a function once after the delay; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
}
