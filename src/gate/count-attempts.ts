/** Counts the attempts of a call that nothing else blocks, and reads what was counted. */
import type { CallRequest } from '../domain/decision.js'
import type { Attempt, AttemptCounter, CountedCall, FrequencyLimit } from '../domain/mandate.js'
import type { Timers } from '../domain/time/clock.js'
import { getErrorMessage } from '../errors.js'
import type { Ledger } from '../judge/facts.js'
import type { LimitsOfCall } from '../judge/judged.js'
import { withTimeout } from '../runtime/runtime.js'

export function createAttempt(
  request: CallRequest,
  {
    number,
    ...rest
  }: Pick<Attempt, 'decisionId' | 'at' | 'purpose'> & Pick<Attempt['call'], 'number'>,
): Attempt {
  const { accountId, keyId = '', approvalId, subject, personId } = request
  const { callKind, projectId, campaignId, callerId } = request
  const call = { number, callKind, projectId, campaignId, callerId }
  return { ...rest, keyId, accountId, call, subject, personId, approvalId }
}

interface Deadline {
  readonly ms: number
  readonly timers: Timers
}

/** What was counted, and when it is known whether the attempt was: one that failed was perhaps counted late. */
export interface TakenAttempt {
  readonly ledger: Ledger
  /** Absent if it was not counted. */
  readonly settled?: Promise<unknown> | undefined
}

/** Never rejects. */
export async function takeAttempt(
  counter: AttemptCounter,
  { attempt, limits }: { readonly attempt: Attempt; readonly limits: LimitsOfCall },
  { ms, timers }: Deadline,
): Promise<TakenAttempt> {
  // An edge sends them to its center, which knows nothing of exceptions.
  const { lifted: _, ...toCount } = limits
  const taking = counter.take(attempt, toCount)
  try {
    const ledger = await withTimeout(taking, ms, rejectLate, { timers })
    return { ledger, settled: ledger.isCounted ? Promise.resolve() : undefined }
  } catch (cause) {
    const ledger = { failure: getErrorMessage(cause) }
    return { ledger, settled: taking.catch(() => undefined) }
  }
}

/** Never rejects; what the limits count, without counting the attempt. */
export async function readAttempts(
  counter: AttemptCounter,
  attempt: Attempt,
  limits: readonly FrequencyLimit[],
  { ms, timers }: Deadline,
): Promise<Ledger> {
  try {
    const counts = counter.readCounts(attempt, limits)
    return { counts: await withTimeout(counts, ms, rejectLate, { timers }), isCounted: false }
  } catch (cause) {
    return { failure: getErrorMessage(cause) }
  }
}

const rejectLate = () => Promise.reject(new Error('no answer in time'))

/** What the decision says of a key's attempts. */
export function toCountedCall(ledger: Ledger): CountedCall {
  if ('failure' in ledger) return {}
  const { remaining, approval } = ledger
  return { remaining, approval }
}
