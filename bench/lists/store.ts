/** A store of numbers to measure. */
export interface Store {
  readonly name: string
  /** Stores the numbers, ten digits each, and indexes them. */
  fill(numbers: Float64Array): Promise<void>
  /** Size of the filled store: memory of the server, or pages on disk. */
  bytes(): Promise<number>
  /** Nanoseconds per look-up, one after the other over one connection. */
  lookUp(numbers: Float64Array): Promise<number>
  close(): Promise<void>
}

/** The reason why a store cannot be measured here. */
export interface Missing {
  readonly name: string
  readonly why: string
}

export function isMissing(store: Store | Missing): store is Missing {
  return 'why' in store
}

/** Nanoseconds per look-up; each must return a boolean. */
export async function nsEach(
  numbers: Float64Array,
  ask: (number: number) => Promise<boolean> | boolean,
): Promise<number> {
  let found = 0
  const started = performance.now()
  for (const number of numbers) if (await ask(number)) found += 1
  const elapsedMs = performance.now() - started
  if (found === 0 || found === numbers.length) {
    throw new Error(`${found} of ${numbers.length} numbers found: this measures nothing`)
  }
  return (elapsedMs * 1e6) / numbers.length
}
