/**
 * Work that is done in the background, again and again: when it is due, when it is woken, and never
 * twice at once. What is left to do is kept in the database, so nothing is lost with the process.
 */
import type { Timers } from '../../domain/time/clock.js'

export interface BackgroundTaskOptions {
  /**
   * Does what is due. Gives the milliseconds until there is more to do; 0 for at once. A run that
   * rejects is tried again after {@link BackgroundTaskOptions.retryMs}.
   */
  readonly run: () => Promise<number>
  readonly timers: Timers
  readonly onError: (cause: unknown) => void
  /** Longest pause, whatever a run said: another process may have left work. */
  readonly maxPauseMs?: number
  readonly retryMs?: number
}

const defaultMaxPauseMs = 60_000
const defaultRetryMs = 5_000

export class BackgroundTask {
  readonly #options: BackgroundTaskOptions
  #state: 'new' | 'resting' | 'running' | 'closed' = 'new'
  #wakeRequested = false
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: BackgroundTaskOptions) {
    this.#options = options
  }

  /** The first run begins at once. */
  start(): void {
    if (this.#state === 'new') this.#startRun()
  }

  /** There is work: a run begins now, or right after the one under way. */
  wake(): void {
    this.#wakeRequested = true
    if (this.#state === 'resting') this.#startRun()
  }

  /** Begins no further run; resolves when the one under way has ended. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#cancelTimer()
    await this.#running
  }

  #startRun(): void {
    this.#cancelTimer()
    this.#state = 'running'
    this.#wakeRequested = false
    this.#running = this.#runOnce()
  }

  async #runOnce(): Promise<void> {
    const { run, onError, retryMs = defaultRetryMs, maxPauseMs = defaultMaxPauseMs } = this.#options
    let pauseMs = retryMs
    try {
      pauseMs = await run()
    } catch (cause) {
      onError(cause)
    }
    if (this.#state === 'closed') return
    this.#state = 'resting'
    const waitMs = this.#wakeRequested ? 0 : Math.min(Math.max(pauseMs, 0), maxPauseMs)
    this.#cancelTimer = this.#options.timers.after(waitMs, () => {
      if (this.#state === 'resting') this.#startRun()
    })
  }
}
