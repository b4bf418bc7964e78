/** Waiting for something to become true, with a limit and words for when it does not. */
import { setTimeout as pause } from 'node:timers/promises'

export interface UntilOptions {
  /** Gives up after this time; 30,000 ms unless told, since a machine may have other work. */
  readonly withinMs?: number
  readonly everyMs?: number
}

/**
 * Asks again and again until the answer is neither `undefined` nor `false`, and gives that answer.
 * What the question throws counts as "not yet". Rejects with `what` when the time is over.
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  { withinMs = 30_000, everyMs = 20 }: UntilOptions = {},
): Promise<Exclude<T, undefined | false>> {
  const end = performance.now() + withinMs
  let last = ''
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>
      last = ''
    } catch (cause) {
      last = `; last: ${cause instanceof Error ? cause.message : String(cause)}`
    }
    if (performance.now() >= end) throw new Error(`not within ${withinMs} ms: ${what}${last}`)
    await pause(everyMs)
  }
}
