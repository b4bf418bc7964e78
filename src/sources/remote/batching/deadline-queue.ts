/**
 * Reports items whose deadline has passed, with one timer for all of them. All items have the same
 * timeout, so they are due in the order in which they were added.
 */
import type { Timers } from '../../../domain/time/clock.js'

export class DeadlineQueue<Item extends { readonly deadlineMs: number }> {
  readonly #timers: Timers
  readonly #onDue: (items: readonly Item[]) => void
  readonly #items = new Set<Item>()
  #cancelTimer: (() => void) | undefined

  /** `onDue` is called with the due items after they are removed. */
  constructor(timers: Timers, onDue: (items: readonly Item[]) => void) {
    this.#timers = timers
    this.#onDue = onDue
  }

  get size(): number {
    return this.#items.size
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.values()
  }

  /** `deadlineMs`, on the monotonic clock, must not be earlier than that of the previous item. */
  add(item: Item): void {
    this.#items.add(item)
    if (!this.#cancelTimer) this.#startTimer(item)
  }

  /** Returns whether the item was in the queue. */
  delete(item: Item): boolean {
    const wasIn = this.#items.delete(item)
    if (this.#items.size === 0) this.#stopTimer()
    return wasIn
  }

  #startTimer({ deadlineMs }: Item): void {
    const ms = Math.max(0, Math.ceil(deadlineMs - this.#timers.monotonicMs()))
    this.#cancelTimer = this.#timers.after(ms, () => this.#expire())
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #expire(): void {
    this.#cancelTimer = undefined
    const now = this.#timers.monotonicMs()
    const due: Item[] = []
    for (const item of this.#items) {
      if (item.deadlineMs > now) {
        this.#startTimer(item)
        break
      }
      this.#items.delete(item)
      due.push(item)
    }
    if (due.length > 0) this.#onDue(due)
  }
}
