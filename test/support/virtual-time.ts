/** Time that passes only when a test lets it: clock and timers in one, hours in a moment. */
import type { Clock, Instant, Timers } from '../../src/domain/time/clock.js'
import { instant } from './test-clock.js'
import { untilPostgresAnswers } from './test-engine.js'

interface Waiting {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

export interface VirtualTime extends Clock, Timers {
  /** Lets that much time pass: everything due runs in its order, each at its own time. */
  advance(ms: number): Promise<void>
  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void>
  /** How many timers wait. */
  waiting(): number
}

export function virtualTime(start = '2026-11-23T17:00:00Z'): VirtualTime {
  const startedAt: Instant = instant(start)
  let elapsed = 0
  let order = 0
  const timers = new Set<Waiting>()
  const next = (limit: number): Waiting | undefined => {
    let first: Waiting | undefined
    for (const one of timers) {
      if (one.at > limit) continue
      const isEarlier =
        !first || one.at < first.at || (one.at === first.at && one.order < first.order)
      if (isEarlier) first = one
    }
    return first
  }
  // A turn of the real loop empties the queue of microtasks, however long it grows. Work that yields
  // when it has taken long by the real clock, as on a busy machine, takes several.
  const settle = async () => {
    do {
      for (let turn = 0; turn < 8; turn += 1) {
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
    } while (await untilPostgresAnswers())
  }
  return {
    now: () => startedAt + Math.floor(elapsed),
    monotonicMs: () => elapsed,
    after(ms, run) {
      order += 1
      const waiting = { at: elapsed + Math.max(0, ms), order, run }
      timers.add(waiting)
      return () => timers.delete(waiting)
    },
    async advance(ms) {
      const end = elapsed + ms
      await settle()
      for (let due = next(end); due; due = next(end)) {
        timers.delete(due)
        elapsed = due.at
        due.run()
        await settle()
      }
      elapsed = end
    },
    settle,
    waiting: () => timers.size,
  }
}
