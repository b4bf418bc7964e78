/** Saves up a quantity as time passes. */
import { systemTimers } from '../../runtime/runtime.js'

export class Credit {
  readonly #perSecond: number
  readonly #most: number
  #left: number
  #atMs = systemTimers.monotonicMs()

  /** Begins with `most`, and never has more. */
  constructor(perSecond: number, most: number) {
    this.#perSecond = perSecond
    this.#most = most
    this.#left = most
  }

  get left(): number {
    const now = systemTimers.monotonicMs()
    const earned = ((now - this.#atMs) / 1_000) * this.#perSecond
    this.#left = Math.min(this.#most, this.#left + earned)
    this.#atMs = now
    return this.#left
  }

  /** May take more than is left; the debt is worked off first. */
  take(amount: number): void {
    this.#left -= amount
  }
}
