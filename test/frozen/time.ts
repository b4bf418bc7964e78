/** Clock and timers of a world: time passes only when its script says so, and randomness comes from a seed. */
import type { Instant, Timers } from '../../src/domain/time/clock.js'
import { EventLoopMonitor, type Runtime, silentLogger } from '../../src/runtime/runtime.js'

interface Waiting {
  readonly at: number
  readonly run: () => void
}

export interface WorldTime {
  readonly runtime: Runtime
  now(): Instant
  /** Lets that much time pass at once; what is due then runs, the earliest first. */
  pass(ms: number): Promise<void>
  /** The clock on the wall is set, forward or back; the other one goes on. */
  setWall(at: Instant): void
  /** Lets time pass until the next timer is due; false without one. */
  passToNext(): Promise<boolean>
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A generator of 32 bits: short, and the same everywhere. */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

export function createWorldTime(start: Instant, seed: number): WorldTime {
  const next = seededNumbers(seed)
  let wallMs = start
  let elapsedMs = 0
  const waiting = new Set<Waiting>()
  const first = () => {
    let found: Waiting | undefined
    for (const one of waiting) if (!found || one.at < found.at) found = one
    return found
  }
  const runDue = async () => {
    for (let due = first(); due && due.at <= elapsedMs; due = first()) {
      waiting.delete(due)
      due.run()
      await turn()
    }
  }
  const timers: Timers = {
    monotonicMs: () => elapsedMs,
    after(ms, run) {
      const one = { at: elapsedMs + Math.max(0, ms), run }
      waiting.add(one)
      // What needs no time does not wait for the script.
      if (ms <= 0) setImmediate(() => waiting.delete(one) && run())
      return () => waiting.delete(one)
    },
  }
  const pass = async (ms: number) => {
    wallMs += ms
    elapsedMs += ms
    await runDue()
  }
  const randomBytes = (size: number) => Buffer.from(Array.from({ length: size }, next))
  const clock = { now: () => wallMs }
  // Whatever passes is idle time, so that a request arrives when it is handled.
  const nodeTiming = {
    get idleTime() {
      return elapsedMs
    },
  }
  const loop = { now: () => elapsedMs, nodeTiming }
  return {
    now: () => wallMs,
    pass,
    setWall: (at) => {
      wallMs = at
    },
    async passToNext() {
      const due = first()
      if (!due) return false
      await pass(Math.max(0, due.at - elapsedMs))
      return true
    },
    runtime: {
      clock,
      timers,
      eventLoop: new EventLoopMonitor({ performance: loop, setImmediate }),
      log: silentLogger,
      randomBytes,
      random: () => next() / 2 ** 32,
      newDecisionId: (at) => at.toString(36).padStart(9, '0') + randomBytes(10).toString('hex'),
      processMetrics: false,
      canBlock: true,
    },
  }
}
