/** Keeps a provider's answers for a while, in a memory with an end: the oldest goes first. */
import type { Timers } from '../../domain/clock.js'

export interface ShelfRules {
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** How long an answer is kept; 0 keeps none. */
  readonly keepMs: number
  readonly mostEntries: number
}

interface Kept<Value> {
  readonly value: Value
  readonly untilMs: number
}

/** What may soon be known better. */
const brieflyMs = 60_000

export class LookupShelf<Value> {
  readonly #rules: ShelfRules
  readonly #kept = new Map<string, Kept<Value>>()

  constructor(rules: ShelfRules) {
    this.#rules = rules
  }

  get size(): number {
    return this.#kept.size
  }

  /** `undefined` when nothing is kept; the value may be that as well. */
  get(key: string): { readonly value: Value } | undefined {
    const kept = this.#kept.get(key)
    if (!kept) return undefined
    if (kept.untilMs > this.#rules.timers.monotonicMs()) return kept
    this.#kept.delete(key)
    return undefined
  }

  /** Briefly: for what is no fact, or one that passes. */
  keep(key: string, value: Value, how: 'long' | 'briefly'): void {
    const { timers, keepMs, mostEntries } = this.#rules
    const ms = how === 'long' ? keepMs : Math.min(keepMs, brieflyMs)
    if (ms <= 0) return
    this.#kept.delete(key)
    this.#kept.set(key, { value, untilMs: timers.monotonicMs() + ms })
    if (this.#kept.size <= mostEntries) return
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined) this.#kept.delete(oldest)
  }
}
