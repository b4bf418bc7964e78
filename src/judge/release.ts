/** Whether an allow may leave now. Asked before its record is written, and again before the answer leaves; a block stays one. */
import type { ReasonCode, Ruling } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import type { Said } from '../domain/words/words.js'

/** The state of the gate at the moment. */
export interface Conditions {
  /** By the account's clock. */
  readonly accountNow: Instant
  /** Why the record, or what goes with it, could not be stored; absent while nothing has failed. */
  readonly failed?: ReasonCode | undefined
  /** The deadline has passed, or the answer waited for others. */
  readonly isLate: boolean
  /** How old what is known of other servers is, and may be, in milliseconds; absent without other servers. */
  readonly currency?: { readonly ageMs: number; readonly maxAgeMs: number } | undefined
  /** How far the machine's clock is behind what is stored, in milliseconds; negative if it is ahead, 0 while plausible. */
  readonly clockLagMs: number
}

/** Why the allow may not leave, and what to say of it. */
export interface Withheld {
  readonly reason: ReasonCode
  readonly says?: readonly Said[] | undefined
}

/** `undefined` if it may leave. Hours and the age of facts cannot be judged by a clock that is known to be wrong. */
export function findWithheld(
  { decision, holdsUntil }: Pick<Ruling, 'decision' | 'holdsUntil'>,
  isWhatIf: boolean,
  { accountNow, failed, isLate, currency, clockLagMs }: Conditions,
): Withheld | undefined {
  if (decision === 'block') return undefined
  if (isLate && failed === undefined) return { reason: 'overloaded' }
  if (failed !== undefined) return { reason: failed }
  if (currency && currency.ageMs > currency.maxAgeMs) return { reason: 'not-current' }
  if (!isWhatIf && holdsUntil <= accountNow) return { reason: 'expired' }
  if (clockLagMs === 0) return undefined
  const params = { seconds: Math.ceil(Math.abs(clockLagMs) / 1000) }
  const reason = clockLagMs > 0 ? 'clock-behind' : 'clock-ahead'
  return { reason, says: [{ code: 'clock-off', params }] }
}
