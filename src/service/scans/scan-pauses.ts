/** How long a scan waits for sources that do not answer, and when it gives up. All in milliseconds. */

export interface Patience {
  /** After the first pass without any result; each further pause is twice as long. */
  readonly firstPauseMs: number
  readonly longestPauseMs: number
  /** From the first pass without any result to the last one; then the job fails. */
  readonly giveUpAfterMs: number
}

/**
 * The pause before the next pass over a job's open numbers, after so many passes in a row without
 * any result; `undefined` when that was the last. Passes are counted, not hours: while the process
 * is down nobody is asked, and that time is not held against a job.
 */
export function pauseAfter(idlePasses: number, patience: Patience): number | undefined {
  if (idlePasses === 0) return patience.firstPauseMs
  let left = patience.giveUpAfterMs
  for (let pass = 1; pass < idlePasses && left > 0; pass += 1) left -= usualPause(pass, patience)
  return left > 0 ? Math.min(left, usualPause(idlePasses, patience)) : undefined
}

function usualPause(pass: number, { firstPauseMs, longestPauseMs }: Patience): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (pass - 1))
}
