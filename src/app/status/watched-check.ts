/** A check of readiness that knows since when its result is what it is. */
import type { Clock, Instant } from '../../domain/time/clock.js'
import type { Readiness, ReadinessCheck } from '../../http/health.js'

export class WatchedCheck implements ReadinessCheck {
  readonly name: string
  readonly #check: ReadinessCheck
  readonly #clock: Clock
  #last: { readonly ready: boolean; readonly since: Instant } | undefined

  constructor(check: ReadinessCheck, clock: Clock) {
    this.name = check.name
    this.#check = check
    this.#clock = clock
  }

  /** When the result of the latest check was seen first; `undefined` before the first one. */
  get since(): Instant | undefined {
    return this.#last?.since
  }

  // A property, since checks are passed on without their object.
  readonly check = async (): Promise<Readiness> => {
    try {
      const result = await this.#check.check()
      this.#note(result.ready)
      return result
    } catch (cause) {
      this.#note(false)
      throw cause
    }
  }

  #note(ready: boolean): void {
    if (this.#last?.ready !== ready) this.#last = { ready, since: this.#clock.now() }
  }
}
