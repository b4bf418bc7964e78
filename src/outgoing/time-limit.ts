/** How long a request may take in all, and that its caller may give it up before. */
import type { Timers } from '../domain/clock.js'
import { SendError, type SendRequest } from '../service/webhooks/sender.js'

export interface Limit {
  readonly signal: AbortSignal
  /** Why the request was given up, if it was. */
  passed(): SendError | undefined
  end(): void
}

/** The caller's own signal is not joined by `AbortSignal.any`: it lives long, and would keep each. */
export function limitOf({ timeoutMs, signal }: SendRequest, timers: Timers): Limit {
  const controller = new AbortController()
  let why: SendError | undefined
  const giveUp = (error: SendError) => {
    why ??= error
    controller.abort()
  }
  const abort = () => giveUp(new SendError('aborted', 'given up'))
  const callOff = timers.after(timeoutMs, () =>
    giveUp(new SendError('timeout', `no whole answer within ${timeoutMs} ms`)),
  )
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    passed: () => why,
    end() {
      callOff()
      signal?.removeEventListener('abort', abort)
    },
  }
}

/** Rejects as soon as the signal is aborted; the work goes on unheard. */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new SendError('aborted', 'given up'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
