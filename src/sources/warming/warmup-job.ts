/**
 * Keeps one list of numbers warm: runs its passes, schedules the next one, and tracks progress. The
 * queue limits the rate and gives jobs their turns.
 */

import type { WarmupState } from '../../api/gate/warmup.js'
import type { ScopeChoice } from '../../domain/caller.js'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { sleep } from '../../runtime/runtime.js'
import type { WarmupResult } from '../cache/cached-compliance.js'
import type { WarmupQueue } from './warmup-queue.js'

export interface WarmupProgress {
  readonly id: string
  /** Project and campaign as given in the request. */
  readonly scope: ScopeChoice
  readonly state: WarmupState
  readonly numbers: number
  /** Numbers asked about at least once: `fresh`, `answered` and `unanswered` together. */
  readonly done: number
  /** Numbers whose answers were all cached already. */
  readonly fresh: number
  /** Numbers for which the source was asked and answered every question. */
  readonly answered: number
  /** Numbers for which an answer was missing at the latest attempt. */
  readonly unanswered: number
  readonly startedAt: Instant
  readonly keptUntil: Instant
  /** Completed passes through the whole list. */
  readonly passes: number
  /** Estimated remaining time in the state `asking`. */
  readonly secondsLeft: number | undefined
}

export interface WarmupJobOptions {
  readonly id: string
  readonly accountId: string
  readonly scope: ScopeChoice
  readonly numbers: number
  readonly keepForMs: number
  /** From the start of one pass to that of the next. */
  readonly passIntervalMs: number
  readonly warmUp: (index: number, freshForMs: number) => Promise<WarmupResult>
  readonly queue: WarmupQueue
  readonly clock: Clock
  readonly timers: Timers
}

/** Calling windows begin and end on quarters of an hour, and so do answers about hours. */
const quarterHourMs = 900_000
/** Allows for slight clock differences, since an answer from just before the quarter expires immediately. */
const quarterMarginMs = 1_000

/** Minimum pause between passes, or between retries of unanswered numbers. */
const minPauseMs = 1_000
/** Failures are retried immediately as long as each attempt answers at least this share of them. */
const minRetryProgress = 0.1

const notAsked = 0
const outcomes: readonly WarmupResult[] = ['fresh', 'answered', 'unanswered']

export class WarmupJob {
  readonly id: string
  readonly accountId: string
  readonly numbers: number
  readonly #options: WarmupJobOptions
  readonly #startedAt: Instant
  readonly #startedMs: number
  /** For each number {@link notAsked}, or 1 + its index in {@link outcomes}. */
  readonly #results: Uint8Array
  readonly #counts = { fresh: 0, answered: 0, unanswered: 0 }
  #state: WarmupState = 'asking'
  #passes = 0
  #lastPassMs = 0
  readonly #stopping = new AbortController()
  readonly #indexes: ArrayLike<number>

  constructor(options: WarmupJobOptions) {
    this.id = options.id
    this.accountId = options.accountId
    this.numbers = options.numbers
    this.#options = options
    this.#startedAt = options.clock.now()
    this.#startedMs = options.timers.monotonicMs()
    this.#results = new Uint8Array(options.numbers)
    this.#indexes = new Uint32Array(options.numbers).map((_, index) => index)
  }

  get isFinished(): boolean {
    return this.#state === 'ended' || this.#state === 'stopped'
  }

  progress(): WarmupProgress {
    const { fresh, answered, unanswered } = this.#counts
    const done = fresh + answered + unanswered
    return {
      id: this.id,
      scope: this.#options.scope,
      state: this.#state,
      numbers: this.numbers,
      done,
      fresh,
      answered,
      unanswered,
      startedAt: this.#startedAt,
      keptUntil: this.#startedAt + this.#options.keepForMs,
      passes: this.#passes,
      secondsLeft: this.#secondsLeft(done),
    }
  }

  /** Resolves when the job has finished; never rejects. Makes at least one pass. */
  async run(): Promise<void> {
    await this.#runFirstPass()
    while (!this.isFinished && this.numbers > 0 && this.#remainingMs() > 0) {
      await this.#sleep(Math.min(this.#untilNextPassMs(), this.#remainingMs()))
      if (!this.isFinished && this.#remainingMs() > 0) await this.#runPass()
    }
    if (!this.isFinished) this.#state = 'ended'
  }

  /** Stops asking, without waiting for questions in flight. */
  stop(): void {
    if (this.isFinished) return
    this.#state = 'stopped'
    this.#stopping.abort()
  }

  /** Retries failures as long as that makes progress. */
  async #runFirstPass(): Promise<void> {
    await this.#runPass()
    let left = this.#counts.unanswered
    let before = Number.POSITIVE_INFINITY
    while (!this.isFinished && left > 0 && left <= before * (1 - minRetryProgress)) {
      before = left
      await this.#sleep(minPauseMs)
      await this.#warmUp(this.#listUnanswered())
      left = this.#counts.unanswered
    }
    if (!this.isFinished) this.#state = 'warm'
  }

  async #runPass(): Promise<void> {
    const started = this.#options.timers.monotonicMs()
    await this.#warmUp(this.#indexes)
    this.#lastPassMs = this.#options.timers.monotonicMs() - started
    if (!this.isFinished) this.#passes += 1
  }

  async #warmUp(indexes: ArrayLike<number>): Promise<void> {
    const { queue, passIntervalMs, warmUp } = this.#options
    const freshForMs = passIntervalMs + Math.max(passIntervalMs / 2, this.#lastPassMs)
    const batch = {
      accountId: this.accountId,
      indexes,
      isFinished: () => this.isFinished,
      warmUp: (index: number) => warmUp(index, freshForMs),
      onResult: (index: number, result: WarmupResult) => this.#recordResult(index, result),
    }
    for (let offset = 0; offset < indexes.length && !this.isFinished; ) {
      offset += await queue.runBatch({ ...batch, offset })
    }
  }

  /** In a later pass, `fresh` only means that a number that failed before has been answered since. */
  #recordResult(index: number, result: WarmupResult): void {
    const previous = outcomes[(this.#results[index] ?? notAsked) - 1]
    const outcome = previous !== undefined && result === 'fresh' ? upgradeResult(previous) : result
    if (previous !== undefined) this.#counts[previous] -= 1
    this.#counts[outcome] += 1
    this.#results[index] = 1 + outcomes.indexOf(outcome)
  }

  #listUnanswered(): ArrayLike<number> {
    const unanswered = 1 + outcomes.indexOf('unanswered')
    return Uint32Array.from(this.#indexes).filter((index) => this.#results[index] === unanswered)
  }

  #sleep(ms: number): Promise<void> {
    return sleep(ms, { timers: this.#options.timers, signal: this.#stopping.signal })
  }

  #remainingMs(): number {
    const { timers, keepForMs } = this.#options
    return this.#startedMs + keepForMs - timers.monotonicMs()
  }

  #untilNextPassMs(): number {
    const { clock, passIntervalMs } = this.#options
    const sinceQuarterMs = (clock.now() - quarterMarginMs) % quarterHourMs
    const untilQuarterMs = quarterHourMs - sinceQuarterMs
    return Math.min(Math.max(minPauseMs, passIntervalMs - this.#lastPassMs), untilQuarterMs)
  }

  #secondsLeft(done: number): number | undefined {
    if (this.#state !== 'asking' || done === 0) return undefined
    const elapsedMs = this.#options.timers.monotonicMs() - this.#startedMs
    return Math.ceil(((elapsedMs / done) * (this.numbers - done)) / 1000)
  }
}

function upgradeResult(previous: WarmupResult): WarmupResult {
  return previous === 'unanswered' ? 'answered' : previous
}
