/** Round-robin order: the key served least recently goes next. */
export class RoundRobin {
  readonly #latest = new Map<string, number>()
  #count = 0

  /** The sequence number of the key's latest turn; 0 for an unknown key. */
  latest(key: string): number {
    return this.#latest.get(key) ?? 0
  }

  take(key: string): void {
    this.#count += 1
    this.#latest.set(key, this.#count)
  }

  /** Puts a new key behind all known ones, so that new keys cannot keep jumping the queue. */
  join(key: string): void {
    if (!this.#latest.has(key)) this.take(key)
  }

  forget(key: string): void {
    this.#latest.delete(key)
  }
}
