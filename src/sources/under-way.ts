/** Which keys are being asked about, so that a change meanwhile can be told to whoever asks. */

export interface Asking {
  /** What the answer is made from may have changed since the question was put. */
  readonly changed: boolean
}

interface Entry {
  changed: boolean
  askers: number
}

export class UnderWay {
  readonly #entries = new Map<string, Entry>()

  /** Each is to be ended with {@link end}. */
  begin(key: string): Asking {
    const entry = this.#entries.get(key) ?? { changed: false, askers: 0 }
    entry.askers += 1
    this.#entries.set(key, entry)
    return entry
  }

  end(key: string, asking: Asking): void {
    const entry = this.#entries.get(key)
    if (entry !== asking || !entry) return
    entry.askers -= 1
    if (entry.askers === 0) this.#entries.delete(key)
  }

  /** Whoever asks from now on is not concerned; without a key all who ask are. */
  change(key?: string): void {
    if (key === undefined) {
      for (const entry of this.#entries.values()) entry.changed = true
      this.#entries.clear()
      return
    }
    const entry = this.#entries.get(key)
    if (!entry) return
    entry.changed = true
    this.#entries.delete(key)
  }
}
