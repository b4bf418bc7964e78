/** Waits for a time, or for a promise with a timeout. Neither leaves a timer or a listener behind. */
import type { Timers } from '../domain/time/clock.js'
import { systemTimers } from './runtime.js'

export interface WaitOptions {
  /** Defaults to the timers of the process. */
  readonly timers?: Pick<Timers, 'after'>
  readonly signal?: AbortSignal
}

/** Resolves after the wait, earlier when the signal is aborted. */
export function sleep(
  ms: number,
  { timers = systemTimers, signal }: WaitOptions = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = timers.after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/**
 * Settles like `promise`, or after `ms` with what `onTimeout` returns or throws. Rejects with the
 * signal's reason if it is aborted first. Anything that happens later is ignored.
 */
export async function withTimeout<Value, Late>(
  promise: Promise<Value>,
  ms: number,
  onTimeout: () => Late,
  { timers = systemTimers, signal }: WaitOptions = {},
): Promise<Value | Late> {
  let cancel: () => void = () => undefined
  let abort: () => void = cancel
  const late = new Promise<void>((resolve, reject) => {
    cancel = timers.after(ms, resolve)
    if (!signal) return
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
  try {
    return await Promise.race([promise, late.then(onTimeout)])
  } finally {
    cancel()
    signal?.removeEventListener('abort', abort)
  }
}
