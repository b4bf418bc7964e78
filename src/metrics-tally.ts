/** Counters that cost a warm decision next to nothing. */
import { Counter, type Registry } from 'prom-client'

/** A branch or, where something was counted, a leaf. */
interface Tally {
  readonly values: readonly string[]
  readonly next: Map<string, Tally>
  count: number
}

/**
 * A counter that is counted in plain maps, one level per label, and handed to prom-client only when
 * it is read: prom-client's own increment hashes its labels each time, which a warm decision would
 * feel.
 */
export function tally<Label extends string>(
  registry: Registry,
  about: { readonly name: string; readonly help: string; readonly labels: readonly Label[] },
): (...values: readonly string[]) => void {
  const root: Tally = { values: [], next: new Map(), count: 0 }
  const all: Tally[] = []
  new Counter({
    name: about.name,
    help: about.help,
    labelNames: about.labels,
    registers: [registry],
    collect() {
      this.reset()
      for (const { values, count } of all) if (count > 0) this.labels(...values).inc(count)
    },
  })
  const branch = (from: Tally, value: string): Tally => {
    const made = { values: [...from.values, value], next: new Map(), count: 0 }
    from.next.set(value, made)
    all.push(made)
    return made
  }
  return (...values) => {
    let at = root
    for (const value of values) at = at.next.get(value) ?? branch(at, value)
    at.count += 1
  }
}
