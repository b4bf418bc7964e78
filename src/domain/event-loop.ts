/**
 * When did the work that the event loop runs now arrive? While the loop is busy, requests and events
 * wait in the kernel without a time stamp; this finds the earliest instant at which they can have arrived.
 */

export interface EventLoopOptions {
  /** Milliseconds on a clock that never jumps. */
  readonly monotonicMs: () => number
  /** Milliseconds the loop has spent waiting for events since the process started. */
  readonly idleMs: () => number
  /** Runs the function once, after the next poll for events; asked for there, after the poll after. */
  readonly onCheckPhase: (run: () => void) => void
}

/** The turn in which a connection was accepted, and the earliest that it can have come. */
export interface TurnMark {
  readonly earliestMs: number
  readonly turn: number
}

interface Sample {
  readonly atMs: number
  readonly idleMs: number
}

/**
 * An event handled in one turn came after the poll of the turn before began, or ended an idle wait.
 * Samples are taken after each poll, so it is no older than the busy time since the sample before
 * the last.
 */
export class EventLoopWatch {
  readonly #options: EventLoopOptions
  #older: Sample
  #newer: Sample
  #turn = 0
  #isStarted = false
  #lastAccept: (TurnMark & { readonly idleMs: number }) | undefined

  constructor(options: EventLoopOptions) {
    this.#options = options
    this.#newer = this.#sample()
    this.#older = this.#newer
  }

  /** Begins to take samples; until then everything is taken to arrive when it is handled. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#newer = this.#sample()
    this.#older = this.#newer
    this.#options.onCheckPhase(() => this.#advance())
  }

  /** The earliest that an event handled now can have arrived, on the monotonic clock. */
  earliestArrivalMs(): number {
    const { atMs, idleMs } = this.#sample()
    if (!this.#isStarted) return atMs
    const busyMs = atMs - this.#older.atMs - (idleMs - this.#older.idleMs)
    return atMs - Math.max(0, busyMs)
  }

  /**
   * To be taken when a connection is accepted. A turn accepts only one, so a connection may have
   * waited since the first of the turns that accepted one each without an idle wait between them.
   */
  markAccept(): TurnMark {
    const { idleMs } = this.#sample()
    const last = this.#lastAccept
    const mayHaveWaited =
      last !== undefined && this.#turn - last.turn <= 1 && idleMs === last.idleMs
    const earliestMs = mayHaveWaited ? last.earliestMs : this.earliestArrivalMs()
    this.#lastAccept = { earliestMs, turn: this.#turn, idleMs }
    return this.#lastAccept
  }

  /**
   * The earliest arrival of the first data of a connection that was accepted at the mark: what had
   * been sent by then is read one turn later, and is as old as the connection.
   */
  earliestArrivalSince({ earliestMs, turn }: TurnMark): number {
    const usual = this.earliestArrivalMs()
    return this.#turn - turn < 2 ? Math.min(earliestMs, usual) : usual
  }

  #advance(): void {
    this.#older = this.#newer
    this.#newer = this.#sample()
    this.#turn += 1
    this.#options.onCheckPhase(() => this.#advance())
  }

  #sample(): Sample {
    const { monotonicMs, idleMs } = this.#options
    return { atMs: monotonicMs(), idleMs: idleMs() }
  }
}
