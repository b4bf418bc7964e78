/**
 * Keeps what was read from the database for at most a second, so that the hot path answers without
 * a query and a change made by another process is still seen within that second.
 */
import type { Timers } from '../../domain/clock.js'

const longestAgeMs = 1000
const mostEntries = 10_000

interface Entry<Value> {
  readonly value: Value
  /** By the monotonic clock. */
  readonly readAtMs: number
}

export class BriefMemory<Value> {
  readonly #timers: Pick<Timers, 'monotonicMs'>
  readonly #entries = new Map<string, Entry<Value>>()
  /** Reads under way, so that a busy moment does not ask the database the same thing many times. */
  readonly #reading = new Map<string, Promise<Value | undefined>>()
  #generation = 0

  /** Age is measured by the monotonic clock: one that is set back would make an entry younger. */
  constructor(timers: Pick<Timers, 'monotonicMs'>) {
    this.#timers = timers
  }

  /** What is known and younger than a second. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    return this.#timers.monotonicMs() - entry.readAtMs < longestAgeMs ? entry.value : undefined
  }

  /** Reads and keeps. `undefined` is not kept, so made-up keys cannot fill the memory. */
  fill(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const underWay = this.#reading.get(key)
    if (underWay) return underWay
    const reading = this.#read(key, read).finally(() => {
      if (this.#reading.get(key) === reading) this.#reading.delete(key)
    })
    this.#reading.set(key, reading)
    return reading
  }

  async #read(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const generation = this.#generation
    const readAtMs = this.#timers.monotonicMs()
    const value = await read()
    // A value read before a forget() may show the state from before the change.
    if (value === undefined || generation !== this.#generation) return value
    if (this.#entries.size >= mostEntries) this.#entries.clear()
    this.#entries.set(key, { value, readAtMs })
    return value
  }

  /** Drops everything; called after each own write has been committed. */
  forget(): void {
    this.#generation += 1
    this.#entries.clear()
    this.#reading.clear()
  }
}
