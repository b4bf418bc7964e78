/** Who is served next among several: whoever was served longest ago. */
export class Turns {
  readonly #latest = new Map<string, number>()
  #count = 0

  /** Number of the latest turn; 0 for a key without one. */
  latest(key: string): number {
    return this.#latest.get(key) ?? 0
  }

  take(key: string): void {
    this.#count += 1
    this.#latest.set(key, this.#count)
  }

  /** Gives a new key its place behind those that are known, so that new ones do not keep going first. */
  join(key: string): void {
    if (!this.#latest.has(key)) this.take(key)
  }

  forget(key: string): void {
    this.#latest.delete(key)
  }
}
