/** What comes from outside the program: time, chance, the log. Tests hand in their own. */
import { randomBytes, randomUUID } from 'node:crypto'
import {
  type Clock,
  systemClock,
  systemEventLoop,
  systemTimers,
  type Timers,
} from './domain/clock.js'
import type { EventLoopWatch } from './domain/event-loop.js'
import { type Logger, silentLogger } from './log.js'

export interface World {
  readonly clock: Clock
  readonly timers: Timers
  readonly eventLoop: EventLoopWatch
  readonly log: Logger
  readonly randomBytes: (size: number) => Buffer
  /** From 0 up to, not including, 1: spreads what must not happen at once; no secret. */
  readonly random: () => number
  /** Ids sort by time and cannot be guessed; letters and digits only, for dialplans. */
  readonly newDecisionId: (at: number) => string
  readonly processMetrics: boolean
  /** A short command may stand still for a lock of another process; a server may not. */
  readonly mayBlock: boolean
}

export const realWorld: World = {
  clock: systemClock,
  timers: systemTimers,
  eventLoop: systemEventLoop(),
  log: silentLogger,
  randomBytes,
  random: () => Math.random(),
  newDecisionId: (at) =>
    at.toString(36).padStart(9, '0') + randomUUID().replaceAll('-', '').slice(0, 20),
  processMetrics: true,
  mayBlock: true,
}
