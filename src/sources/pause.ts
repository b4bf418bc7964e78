/** Waiting that can be cut short, for work that is done in pieces. */
import type { Timers } from '../domain/clock.js'

export class Pause {
  readonly #timers: Timers
  #wake: (() => void) | undefined

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** One at a time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const callOff = this.#timers.after(ms, () => this.end())
      this.#wake = () => {
        callOff()
        resolve()
      }
    })
  }

  /** Ends the wait under way, if there is one, and leaves no timer. */
  end(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
