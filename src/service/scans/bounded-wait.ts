/** Waiting for others' answers, for so long and no longer. */
import type { Timers } from '../../domain/clock.js'

/** A wait was ended from outside, not by the answer or its lateness. */
export class CutShort extends Error {}

export class BoundedWait {
  readonly #timers: Timers
  readonly #mostMs: number
  readonly #underWay = new Set<(cause: Error) => void>()

  constructor(timers: Timers, mostMs: number) {
    this.#timers = timers
    this.#mostMs = mostMs
  }

  /** Settles as `answer` does; rejects when that takes too long or the waits are ended. */
  async of<Answer>(answer: Promise<Answer>): Promise<Answer> {
    let end: () => void = () => undefined
    const cut = new Promise<never>((_resolve, reject) => {
      const tooLate = () => reject(new Error(`no answer came within ${this.#mostMs} ms`))
      const callOff = this.#timers.after(this.#mostMs, tooLate)
      this.#underWay.add(reject)
      end = () => {
        callOff()
        this.#underWay.delete(reject)
      }
    })
    try {
      return await Promise.race([answer, cut])
    } finally {
      end()
    }
  }

  /** Those under way reject with {@link CutShort}. */
  endAll(): void {
    for (const reject of this.#underWay) reject(new CutShort('the wait was ended'))
  }
}
