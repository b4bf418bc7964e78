/** Whether an answer of a provider permits a call by itself. The rules may forbid more than these, but never less. */
import type {
  CallRow,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
} from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'

/** By its flags and its day. Without a kind of call: whether it permits any. */
export function rowPermits({ allowed, doNotCallToday }: CallRow, kind?: CallKind): boolean {
  if (doNotCallToday) return false
  if (kind !== undefined) return allowed[kind]
  return allowed.manual || allowed.autodialed || allowed.ai
}

export const entryPermits = ({ onList }: InternalDncStatus): boolean => !onList

export const litigatorPermits = ({ isLitigator }: LitigatorStatus): boolean => !isLitigator

export const hoursPermit = ({ permitted }: LegalTime): boolean => permitted
