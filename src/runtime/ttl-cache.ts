/**
 * A cache of limited size whose entries expire. Ages are measured on the injected monotonic clock, since
 * setting back the other clock would make entries younger.
 */
import { LRUCache } from 'lru-cache'
import type { Timers } from '../domain/time/clock.js'

export interface TtlCacheOptions {
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** How long an entry is kept; 0 keeps none. */
  readonly ttlMs: number
  /** Beyond this number, the least recently used entries are dropped. */
  readonly maxEntries: number
}

/** lru-cache returns an entry at the instant it expires, and never expires one with start 0 or ttl 0. */
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
      // Not `max`, since lru-cache would allocate the memory for all entries immediately.
      maxSize: maxEntries,
      sizeCalculation: () => 1,
      // Otherwise lru-cache caches the time, using a real timer.
      ttlResolution: 0,
      perf: { now: timers.monotonicMs.bind(timers) },
    })
    this.get = this.#entries.get.bind(this.#entries)
  }

  get size(): number {
    return this.#entries.size
  }

  /** The entry expires after `maxMs` if that is shorter than the ttl. */
  set(key: string, value: Value, maxMs = Number.POSITIVE_INFINITY): void {
    const { timers, ttlMs } = this.#options
    const ms = Math.min(ttlMs, maxMs)
    if (ms <= 0) return
    const start = timers.monotonicMs() + minMs
    this.#entries.set(key, value, { start, ttl: Math.max(minMs, ms - 2 * minMs) })
  }

  /**
   * Returns the entry, or reads and stores it; simultaneous calls share one read. Its age counts from the
   * start of the read. `undefined` is not stored, so that invented keys cannot fill the memory.
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
   * Drops all entries. A read in progress still returns its value to its callers, but the value is not
   * stored, since it may be from before a change.
   */
  clear(): void {
    this.#entries.clear()
    this.#reads = new Map()
  }
}
