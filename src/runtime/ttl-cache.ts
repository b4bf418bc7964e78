/**
 * A cache of limited size whose entries expire. Ages are measured by the injected monotonic clock: a
 * clock that is set back would make an entry younger.
 */
import { LRUCache } from 'lru-cache'
import type { Timers } from '../domain/time/clock.js'

export interface TtlCacheOptions {
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** How long an entry is kept; 0 keeps none. */
  readonly ttlMs: number
  /** The least recently used entries go first. */
  readonly maxEntries: number
}

/** lru-cache keeps an entry for its last moment too, and one that begins at 0 or has a ttl of 0 forever. */
const minMs = 0.001

export class TtlCache<Value extends object> {
  /** The entry of a key, unless it has expired. */
  readonly get: (key: string) => Value | undefined
  readonly #options: TtlCacheOptions
  readonly #entries: LRUCache<string, Value>
  #reads = new Map<string, Promise<Value | undefined>>()

  constructor(options: TtlCacheOptions) {
    this.#options = options
    const { timers, maxEntries } = options
    this.#entries = new LRUCache<string, Value>({
      // Not `max`, for which lru-cache allocates all the memory at once.
      maxSize: maxEntries,
      sizeCalculation: () => 1,
      // Otherwise lru-cache reuses a reading of the clock for a while, by a real timer.
      ttlResolution: 0,
      perf: { now: timers.monotonicMs.bind(timers) },
    })
    this.get = this.#entries.get.bind(this.#entries)
  }

  get size(): number {
    return this.#entries.size
  }

  /** The entry expires after `maxMs` if that is shorter. */
  set(key: string, value: Value, maxMs = Number.POSITIVE_INFINITY): void {
    const { timers, ttlMs } = this.#options
    const ms = Math.min(ttlMs, maxMs)
    if (ms <= 0) return
    const start = timers.monotonicMs() + minMs
    this.#entries.set(key, value, { start, ttl: Math.max(minMs, ms - 2 * minMs) })
  }

  /**
   * The entry, or else what is read; simultaneous calls share one read. Its age counts from the start
   * of the read. `undefined` is not kept, so made-up keys cannot fill the memory.
   */
  async fetch(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const known = this.get(key)
    if (known) return known
    const reads = this.#reads
    const reading = reads.get(key) ?? this.#read(key, read).finally(() => reads.delete(key))
    reads.set(key, reading)
    return await reading
  }

  async #read(key: string, read: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const { timers, ttlMs } = this.#options
    const reads = this.#reads
    const startedMs = timers.monotonicMs()
    const value = await read()
    const leftMs = startedMs + ttlMs - timers.monotonicMs()
    if (value && reads === this.#reads) this.set(key, value, leftMs)
    return value
  }

  /**
   * Drops everything. A read in progress still gives its value to those who wait for it, but the value
   * is not kept: it may show the state from before a change.
   */
  clear(): void {
    this.#entries.clear()
    this.#reads = new Map()
  }
}
