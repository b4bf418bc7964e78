/** Waiting no longer than told. */
import type { Timers } from '../domain/clock.js'

/** Whether the promise came true in time; it must not reject. */
export async function withinMs(
  promise: Promise<boolean>,
  limitMs: number,
  timers: Timers,
): Promise<boolean> {
  let stop: (() => void) | undefined
  const late = new Promise<boolean>((resolve) => {
    stop = timers.after(Math.max(0, limitMs), () => resolve(false))
  })
  const inTime = await Promise.race([promise, late])
  stop?.()
  return inTime
}
