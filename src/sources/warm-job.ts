/**
 * One list of numbers that is kept warm: its passes, when the next one is due, and how far it is.
 * How many numbers are asked about at once, and whose turn it is, is left to `warm-lane.ts`.
 */
import type { ScopeChoice } from '../domain/caller.js'
import type { Clock, Instant, Timers } from '../domain/clock.js'
import type { WarmState } from '../domain/warm-state.js'
import type { Warmed } from './answer-shelf.js'
import { Pause } from './pause.js'
import type { WarmLane } from './warm-lane.js'

export interface WarmProgress {
  readonly id: string
  /** As the request for the job named it. */
  readonly scope: ScopeChoice
  readonly state: WarmState
  readonly numbers: number
  /** Numbers asked about at least once: `fresh`, `answered` and `unanswered` together. */
  readonly done: number
  /** All answers were already kept when the job came to the number. */
  readonly fresh: number
  /** Something was asked, and no answer is missing. */
  readonly answered: number
  /** At the latest asking an answer was missing. */
  readonly unanswered: number
  readonly startedAt: Instant
  readonly keptUntil: Instant
  /** How often the whole list was gone through. */
  readonly passes: number
  /** Estimate for what is left of `asking`. */
  readonly secondsLeft: number | undefined
}

export interface WarmJobOptions {
  readonly id: string
  readonly accountId: string
  readonly scope: ScopeChoice
  readonly numbers: number
  readonly keepForMs: number
  /** From the start of one pass to that of the next. */
  readonly passEveryMs: number
  readonly ask: (place: number, freshForMs: number) => Promise<Warmed>
  readonly lane: WarmLane
  readonly clock: Clock
  readonly timers: Timers
}

/** Calling windows begin and end on quarters of an hour, and with them answers about hours. */
const quarterHourMs = 900_000
/** Clocks differ a little, and an answer made a moment too early ends at once. */
const afterQuarterMs = 1_000

/** Between two passes, or two tries of what was not answered. */
const shortestPauseMs = 1_000
/** What is not answered is tried again at once as long as so much of it is answered each time. */
const worthwhileShare = 0.1

const notAsked = 0
const outcomes: readonly Warmed[] = ['fresh', 'answered', 'unanswered']

export class WarmJob {
  readonly id: string
  readonly accountId: string
  readonly numbers: number
  readonly #options: WarmJobOptions
  readonly #startedAt: Instant
  readonly #startedMs: number
  /** Per number {@link notAsked}, or 1 + its place in {@link outcomes}. */
  readonly #told: Uint8Array
  readonly #counts = { fresh: 0, answered: 0, unanswered: 0 }
  #state: WarmState = 'asking'
  #passes = 0
  #lastPassMs = 0
  readonly #pause: Pause
  readonly #places: ArrayLike<number>

  constructor(options: WarmJobOptions) {
    this.id = options.id
    this.accountId = options.accountId
    this.numbers = options.numbers
    this.#options = options
    this.#startedAt = options.clock.now()
    this.#startedMs = options.timers.monotonicMs()
    this.#told = new Uint8Array(options.numbers)
    this.#pause = new Pause(options.timers)
    this.#places = Uint32Array.from({ length: options.numbers }, (_, place) => place)
  }

  get isOver(): boolean {
    return this.#state === 'ended' || this.#state === 'stopped'
  }

  progress(): WarmProgress {
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

  /** Resolves when the job is over; never rejects. The first pass is made in any case. */
  async run(): Promise<void> {
    await this.#firstPass()
    while (!this.isOver && this.numbers > 0 && this.#leftMs() > 0) {
      await this.#pause.wait(Math.min(this.#untilNextPassMs(), this.#leftMs()))
      if (!this.isOver && this.#leftMs() > 0) await this.#pass()
    }
    if (!this.isOver) this.#state = 'ended'
  }

  /** Asks about nothing any more; what is under way is not waited for. */
  stop(): void {
    if (this.isOver) return
    this.#state = 'stopped'
    this.#pause.end()
  }

  /** What was not answered is tried again while that is worth the while. */
  async #firstPass(): Promise<void> {
    await this.#pass()
    let left = this.#counts.unanswered
    let before = Number.POSITIVE_INFINITY
    while (!this.isOver && left > 0 && left <= before * (1 - worthwhileShare)) {
      before = left
      await this.#pause.wait(shortestPauseMs)
      await this.#ask(this.#unansweredPlaces())
      left = this.#counts.unanswered
    }
    if (!this.isOver) this.#state = 'warm'
  }

  async #pass(): Promise<void> {
    const started = this.#options.timers.monotonicMs()
    await this.#ask(this.#places)
    this.#lastPassMs = this.#options.timers.monotonicMs() - started
    if (!this.isOver) this.#passes += 1
  }

  async #ask(places: ArrayLike<number>): Promise<void> {
    const { lane, passEveryMs, ask } = this.#options
    const freshForMs = passEveryMs + Math.max(passEveryMs / 2, this.#lastPassMs)
    const asking = {
      accountId: this.accountId,
      places,
      isOver: () => this.isOver,
      ask: (place: number) => ask(place, freshForMs),
      tell: (place: number, warmed: Warmed) => this.#tell(place, warmed),
    }
    for (let from = 0; from < places.length && !this.isOver; ) {
      from += await lane.block({ ...asking, from })
    }
  }

  /** That a number is fresh in a later pass says nothing new about it, but that it is answered. */
  #tell(place: number, warmed: Warmed): void {
    const told = outcomes[(this.#told[place] ?? notAsked) - 1]
    const outcome = told !== undefined && warmed === 'fresh' ? sinceAnswered(told) : warmed
    if (told !== undefined) this.#counts[told] -= 1
    this.#counts[outcome] += 1
    this.#told[place] = 1 + outcomes.indexOf(outcome)
  }

  #unansweredPlaces(): ArrayLike<number> {
    const unanswered = 1 + outcomes.indexOf('unanswered')
    return Uint32Array.from(this.#places).filter((place) => this.#told[place] === unanswered)
  }

  #leftMs(): number {
    const { timers, keepForMs } = this.#options
    return this.#startedMs + keepForMs - timers.monotonicMs()
  }

  #untilNextPassMs(): number {
    const { clock, passEveryMs } = this.#options
    const sinceQuarterMs = (clock.now() - afterQuarterMs) % quarterHourMs
    const untilQuarterMs = quarterHourMs - sinceQuarterMs
    return Math.min(Math.max(shortestPauseMs, passEveryMs - this.#lastPassMs), untilQuarterMs)
  }

  #secondsLeft(done: number): number | undefined {
    if (this.#state !== 'asking' || done === 0) return undefined
    const elapsedMs = this.#options.timers.monotonicMs() - this.#startedMs
    return Math.ceil(((elapsedMs / done) * (this.numbers - done)) / 1000)
  }
}

function sinceAnswered(told: Warmed): Warmed {
  return told === 'unanswered' ? 'answered' : told
}
