/** What the program gets from its environment: time, waiting, randomness and the log. Tests pass their own. */
import { randomBytes } from 'node:crypto'
import type { Clock, Timers } from '../domain/time/clock.js'
import type { Logger } from '../observability/log.js'

export interface Runtime {
  readonly clock: Clock
  readonly timers: Timers
  readonly eventLoop: EventLoopMonitor
  readonly log: Logger
  readonly randomBytes: (size: number) => Buffer
  /** At least 0 and below 1. For spreading retries and the like; not for secrets. */
  readonly random: () => number
  /** Ids sort by time, cannot be guessed, and have only letters and digits, for dialplans. */
  readonly newDecisionId: (at: number) => string
  readonly processMetrics: boolean
  /** A short command may block while another process holds a lock; a server may not. */
  readonly canBlock: boolean
}

export const systemClock: Clock = { now: () => Date.now() }

/** Seconds on a monotonic clock; only differences are meaningful. For measuring, not for rules. */
export function monotonicSeconds(): number {
  return performance.now() / 1000
}

export const systemTimers: Timers = {
  monotonicMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

export interface WaitOptions {
  /** Defaults to the timers of the process. */
  readonly timers?: Pick<Timers, 'after'>
  readonly signal?: AbortSignal
}

/** Resolves after the wait, earlier when the signal is aborted. */
export function sleep(
  ms: number,
  { timers = systemTimers, signal }: WaitOptions = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = timers.after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/**
 * Settles like `promise`, or after `ms` with what `onTimeout` returns or throws. Rejects with the
 * signal's reason if it is aborted first. Anything that happens later is ignored.
 */
export async function withTimeout<Value, Late>(
  promise: Promise<Value>,
  ms: number,
  onTimeout: () => Late,
  { timers = systemTimers, signal }: WaitOptions = {},
): Promise<Value | Late> {
  let cancel: () => void = () => undefined
  let abort: () => void = cancel
  const late = new Promise<void>((resolve, reject) => {
    cancel = timers.after(ms, resolve)
    if (!signal) return
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
  try {
    return await Promise.race([promise, late.then(onTimeout)])
  } finally {
    cancel()
    signal?.removeEventListener('abort', abort)
  }
}

/** The event loop of this process. */
export function createSystemEventLoopMonitor(): EventLoopMonitor {
  return new EventLoopMonitor({ performance, setImmediate })
}

/** The parts of Node.js that the monitor uses. */
export interface EventLoopMonitorOptions {
  readonly performance: {
    /** Milliseconds on a monotonic clock. */
    now(): number
    /** `idleTime`: milliseconds the loop has spent waiting for events since the process started. */
    readonly nodeTiming: { readonly idleTime: number }
  }
  /** Runs the function after the next poll for events, or after the one after that when called there. */
  readonly setImmediate: (run: () => void) => { unref(): void }
}

/** The turn in which a connection was accepted, and the earliest instant it can have arrived. */
export interface AcceptMark {
  readonly earliestMs: number
  readonly turn: number
}

interface Sample {
  readonly atMs: number
  readonly idleMs: number
}

/**
 * Determines when the event that is being handled can have arrived at the earliest. While the loop is
 * busy, requests and events wait in the kernel without a timestamp. An event handled in one turn arrived
 * after the poll of the previous turn began, or ended an idle wait. Samples are taken after each poll,
 * so an event is no older than the busy time since the sample before the last. The samples neither keep
 * the process alive nor wake the loop.
 */
export class EventLoopMonitor {
  readonly #options: EventLoopMonitorOptions
  #older: Sample
  #newer: Sample
  #turn = 0
  #isStarted = false
  #lastAccept: (AcceptMark & { readonly idleMs: number }) | undefined

  constructor(options: EventLoopMonitorOptions) {
    this.#options = options
    const { performance } = options
    this.#newer = { atMs: performance.now(), idleMs: performance.nodeTiming.idleTime }
    this.#older = this.#newer
  }

  /** Starts taking samples; before that, events are assumed to arrive when they are handled. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#takeSample()
    this.#older = this.#newer
  }

  /**
   * The earliest instant, on the monotonic clock, at which an event handled now can have arrived. For the
   * first data of a connection, pass its mark as `accepted`: data sent before the connection was accepted
   * is read one turn later, and may be as old as the connection.
   */
  earliestArrivalMs(accepted?: AcceptMark): number {
    const { performance } = this.#options
    const nowMs = performance.now()
    if (!this.#isStarted) return nowMs
    const { atMs, idleMs } = this.#older
    const busyMs = nowMs - atMs - (performance.nodeTiming.idleTime - idleMs)
    const earliestMs = nowMs - Math.max(0, busyMs)
    const isJustAccepted = accepted !== undefined && this.#turn - accepted.turn < 2
    return isJustAccepted ? Math.min(accepted.earliestMs, earliestMs) : earliestMs
  }

  /**
   * Call it when a connection is accepted. A turn accepts only one, so a connection may have waited
   * since the first of a series of turns that each accepted one without an idle wait between them.
   */
  markAccept(): AcceptMark {
    const idleMs = this.#options.performance.nodeTiming.idleTime
    const last = this.#lastAccept
    const mayHaveWaited =
      last !== undefined && this.#turn - last.turn <= 1 && idleMs === last.idleMs
    const earliestMs = mayHaveWaited ? last.earliestMs : this.earliestArrivalMs()
    this.#lastAccept = { earliestMs, turn: this.#turn, idleMs }
    return this.#lastAccept
  }

  readonly #takeSample = (): void => {
    const { performance, setImmediate } = this.#options
    this.#older = this.#newer
    this.#newer = { atMs: performance.now(), idleMs: performance.nodeTiming.idleTime }
    this.#turn += 1
    setImmediate(this.#takeSample).unref()
  }
}

const randomDigitsPerId = 20
const idsPerPool = 256

/** The instant, then 80 random bits. */
function createIdGenerator(): Runtime['newDecisionId'] {
  let pool = ''
  let offset = 0
  let timeAt: number | undefined
  let time = ''
  return (at) => {
    if (at !== timeAt) {
      time = at.toString(36).padStart(9, '0')
      timeAt = at
    }
    if (offset === pool.length) {
      pool = randomBytes((idsPerPool * randomDigitsPerId) / 2).toString('hex')
      offset = 0
    }
    offset += randomDigitsPerId
    return time + pool.slice(offset - randomDigitsPerId, offset)
  }
}

/** For tools and tests that need no log lines. */
export const silentLogger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}

export const nodeRuntime: Runtime = {
  clock: systemClock,
  timers: systemTimers,
  eventLoop: createSystemEventLoopMonitor(),
  log: silentLogger,
  randomBytes,
  random: () => Math.random(),
  newDecisionId: createIdGenerator(),
  processMetrics: true,
  canBlock: true,
}
