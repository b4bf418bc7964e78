/** Counts how often long work lets the event loop turn, on a clock that time passes on by looking. */
import { vi } from 'vitest'

/** A monotonic clock never goes back, not from one use to the next either. */
let now = 0

/**
 * How many turns the event loop makes while `work` runs, at least. Each look at the clock finds it
 * `msPerLook` later, so work that looks at it once per row is slow without taking long. A little more
 * than 1 ms, as three times exactly 1 ms may round to less than 3.
 */
export async function turnsDuring<Result>(
  work: () => Promise<Result>,
  msPerLook = 1.01,
): Promise<{ readonly turns: number; readonly result: Result }> {
  now = Math.max(now, performance.now())
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += msPerLook
    return now
  })
  let turns = 0
  let isDone = false
  const count = () => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  try {
    const result = await work()
    return { turns, result }
  } finally {
    isDone = true
    clock.mockRestore()
  }
}
