/** Counts what came within the last 60 seconds, whenever they began: requests, or numbers in them. */

export const msPerMinute = 60_000

/** Forgetting one at a time would move the whole list each time. */
const minRemovedEntries = 1_000

interface Entry {
  readonly at: number
  readonly amount: number
}

export class MinuteWindow {
  readonly #entries: Entry[] = []
  #first = 0
  #count = 0

  /** Times never go back; they are in milliseconds. */
  add(at: number, amount = 1): void {
    this.#entries.push({ at, amount })
    this.#count += amount
  }

  /** How many came later than 60 seconds before that time. */
  countAt(now: number): number {
    for (let entry = this.#entries[this.#first]; entry; entry = this.#entries[this.#first]) {
      if (entry.at > now - msPerMinute) break
      this.#count -= entry.amount
      this.#first += 1
    }
    if (this.#first >= minRemovedEntries && this.#first * 2 > this.#entries.length) {
      this.#entries.splice(0, this.#first)
      this.#first = 0
    }
    return this.#count
  }

  /**
   * Adds the amount, unless the last 60 seconds would then hold more than `most`. Then it gives the
   * whole seconds, at least 1, after which there is room for it; an amount above `most` never fits,
   * and the seconds are those until the window is empty.
   */
  tryAdd(most: number, now: number, amount = 1): number | undefined {
    const count = this.countAt(now)
    if (count + amount <= most) {
      this.add(now, amount)
      return undefined
    }
    let excess = count + amount - most
    let roomAt = now
    for (let index = this.#first; excess > 0 && index < this.#entries.length; index += 1) {
      const entry = this.#entries[index]
      if (!entry) break
      excess -= entry.amount
      roomAt = entry.at + msPerMinute
    }
    return Math.max(1, Math.ceil((roomAt - now) / 1000))
  }
}
