/**
 * Work that is done in the background, again and again: when it is due, when it is woken, and never
 * twice at once. What is left to do is kept in the database, so nothing is lost with the process.
 */
import type { Timers } from '../../domain/clock.js'

export interface RecurringOptions {
  /**
   * Does what is due. Gives the milliseconds until there is more to do; 0 for at once. A run that
   * rejects is tried again after {@link RecurringOptions.retryMs}.
   */
  readonly run: () => Promise<number>
  readonly timers: Timers
  readonly onError: (cause: unknown) => void
  /** Longest pause, whatever a run said: another process may have left work. */
  readonly mostMs?: number
  readonly retryMs?: number
}

const usualMostMs = 60_000
const usualRetryMs = 5_000

export class Recurring {
  readonly #options: RecurringOptions
  #state: 'new' | 'resting' | 'running' | 'closed' = 'new'
  #woken = false
  #callOff: () => void = () => undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: RecurringOptions) {
    this.#options = options
  }

  /** The first run begins at once. */
  start(): void {
    if (this.#state === 'new') this.#begin()
  }

  /** There is work: a run begins now, or right after the one under way. */
  wake(): void {
    this.#woken = true
    if (this.#state === 'resting') this.#begin()
  }

  /** Begins no further run; resolves when the one under way has ended. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#callOff()
    await this.#running
  }

  #begin(): void {
    this.#callOff()
    this.#state = 'running'
    this.#woken = false
    this.#running = this.#runOnce()
  }

  async #runOnce(): Promise<void> {
    const { run, onError, retryMs = usualRetryMs, mostMs = usualMostMs } = this.#options
    let pauseMs = retryMs
    try {
      pauseMs = await run()
    } catch (cause) {
      onError(cause)
    }
    if (this.#state === 'closed') return
    this.#state = 'resting'
    const waitMs = this.#woken ? 0 : Math.min(Math.max(pauseMs, 0), mostMs)
    this.#callOff = this.#options.timers.after(waitMs, () => {
      if (this.#state === 'resting') this.#begin()
    })
  }
}
