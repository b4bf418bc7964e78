/** Counts what came within the last 60 seconds, whenever they began. */

export const minuteMs = 60_000

/** Forgetting one at a time would move the whole list each time. */
const forgetAtLeast = 1_000

export class MinuteWindow {
  readonly #times: number[] = []
  #first = 0

  /** Times never go back; they are in milliseconds. */
  add(at: number): void {
    this.#times.push(at)
  }

  /** How many came later than 60 seconds before that time. */
  countAt(now: number): number {
    while (this.#first < this.#times.length && this.#at(this.#first) <= now - minuteMs) {
      this.#first += 1
    }
    if (this.#first >= forgetAtLeast && this.#first * 2 > this.#times.length) {
      this.#times.splice(0, this.#first)
      this.#first = 0
    }
    return this.#times.length - this.#first
  }

  /**
   * Adds one, unless so many came within the last 60 seconds. Then it gives the whole seconds, at
   * least 1, after which there is room for one.
   */
  addWithin(most: number, now: number): number | undefined {
    if (this.countAt(now) < most) {
      this.add(now)
      return undefined
    }
    const earliest = this.#times[this.#first] ?? now
    return Math.max(1, Math.ceil((earliest + minuteMs - now) / 1000))
  }

  #at(index: number): number {
    return this.#times[index] ?? Number.POSITIVE_INFINITY
  }
}
