/** The lookups in flight, so that an answer is not stored if the facts changed while it was awaited. */

interface InFlightLookup {
  /** Whether the facts may have changed since the question was asked. */
  isInvalidated: boolean
  count: number
}

export class InFlightLookups {
  readonly #lookups = new Map<string, InFlightLookup>()

  /** Registers a lookup, which must be ended with {@link end}. */
  begin(key: string): Readonly<InFlightLookup> {
    const lookup = this.#lookups.get(key) ?? { isInvalidated: false, count: 0 }
    lookup.count += 1
    this.#lookups.set(key, lookup)
    return lookup
  }

  end(key: string, begun: Readonly<InFlightLookup>): void {
    const lookup = this.#lookups.get(key)
    if (lookup !== begun || !lookup) return
    lookup.count -= 1
    if (lookup.count === 0) this.#lookups.delete(key)
  }

  /** Invalidates the lookups that have begun, for all keys if none is given; does not affect later ones. */
  invalidate(key?: string): void {
    for (const one of key === undefined ? [...this.#lookups.keys()] : [key]) {
      const lookup = this.#lookups.get(one)
      if (lookup) lookup.isInvalidated = true
      this.#lookups.delete(one)
    }
  }
}
