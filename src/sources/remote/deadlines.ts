/**
 * Tells each of many waiting things when its time is up, with one timer for all of them. Each waits
 * as long as the others do, so they are due in the order in which they came.
 */
import type { Timers } from '../../domain/clock.js'

export class Deadlines<Item extends { readonly deadlineMs: number }> {
  readonly #timers: Timers
  readonly #due: (items: readonly Item[]) => void
  readonly #items = new Set<Item>()
  #callOff: (() => void) | undefined

  /** `due` is handed what is no longer in here. */
  constructor(timers: Timers, due: (items: readonly Item[]) => void) {
    this.#timers = timers
    this.#due = due
  }

  get size(): number {
    return this.#items.size
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.values()
  }

  /** `deadlineMs`, on the monotonic clock, is no earlier than that of the one before. */
  add(item: Item): void {
    this.#items.add(item)
    if (!this.#callOff) this.#wait(item)
  }

  /** Whether it was still waiting. */
  delete(item: Item): boolean {
    const wasIn = this.#items.delete(item)
    if (this.#items.size === 0) this.#stop()
    return wasIn
  }

  #wait({ deadlineMs }: Item): void {
    const ms = Math.max(0, Math.ceil(deadlineMs - this.#timers.monotonicMs()))
    this.#callOff = this.#timers.after(ms, () => this.#sweep())
  }

  #stop(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  #sweep(): void {
    this.#callOff = undefined
    const now = this.#timers.monotonicMs()
    const due: Item[] = []
    for (const item of this.#items) {
      if (item.deadlineMs > now) {
        this.#wait(item)
        break
      }
      this.#items.delete(item)
      due.push(item)
    }
    if (due.length > 0) this.#due(due)
  }
}
