/**
 * A recurring background task. It runs when due or when woken, and never concurrently with itself.
 * Pending work is in the database, so a restart loses nothing.
 */
import type { Timers } from '../../domain/time/clock.js'

export interface BackgroundTaskOptions {
  /**
   * Does the work that is due. Resolves to the milliseconds until more is due; 0 means immediately. A
   * run that rejects is retried after {@link BackgroundTaskOptions.retryMs}.
   */
  readonly run: () => Promise<number>
  readonly timers: Timers
  readonly onError: (cause: unknown) => void
  /** Upper limit of the pause that a run returns, since another process may have added work. */
  readonly maxPauseMs?: number
  readonly retryMs?: number
  /** Of several servers over a database, only the leader runs the task. */
  readonly leadership?: { readonly isLeader: boolean } | undefined
  /** Called instead of a run while another server is the leader. */
  readonly onFollow?: () => void
}

/** Also for work that another server has added. */
const leadershipCheckMs = 1_000

const defaultMaxPauseMs = 60_000
const defaultRetryMs = 5_000

interface LastRun {
  /** Of {@link Timers.monotonicMs}. */
  readonly endedMs: number
  readonly hasFailed: boolean
}

export class BackgroundTask {
  readonly #options: BackgroundTaskOptions
  #state: 'new' | 'resting' | 'running' | 'closed' = 'new'
  #wakeRequested = false
  #lastRun: LastRun | undefined
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: BackgroundTaskOptions) {
    this.#options = options
  }

  /** `undefined` before the first run has ended, and while another server has always been the leader. */
  get lastRun(): LastRun | undefined {
    return this.#lastRun
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  /** Starts the first run immediately. */
  start(): void {
    if (this.#state === 'new') this.#startRun()
  }

  /** Starts a run now, or right after the one in progress; if that fails, after {@link BackgroundTaskOptions.retryMs}. */
  wake(): void {
    this.#wakeRequested = true
    if (this.#state === 'resting') this.#startRun()
  }

  /** Starts no further run; resolves when the run in progress has ended. */
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
    const { run, onError, retryMs = defaultRetryMs, leadership } = this.#options
    const { maxPauseMs = leadership ? leadershipCheckMs : defaultMaxPauseMs } = this.#options
    let pauseMs = retryMs
    try {
      if (leadership?.isLeader === false) {
        this.#options.onFollow?.()
        pauseMs = leadershipCheckMs
      } else {
        pauseMs = await run()
        this.#noteRun(false)
      }
    } catch (cause) {
      this.#noteRun(true)
      this.#wakeRequested = false
      onError(cause)
    }
    if (this.#state === 'closed') return
    this.#state = 'resting'
    const waitMs = this.#wakeRequested ? 0 : Math.min(Math.max(pauseMs, 0), maxPauseMs)
    this.#cancelTimer = this.#options.timers.after(waitMs, () => {
      if (this.#state === 'resting') this.#startRun()
    })
  }
  #noteRun(hasFailed: boolean): void {
    this.#lastRun = { endedMs: this.#options.timers.monotonicMs(), hasFailed }
  }
}
