/** Whether a provider's answer permits a call. The rules can forbid more than these predicates, never less. */
import type {
  CallRow,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
} from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'

/** Uses the row's flags and day. Without a kind: whether it permits any kind of call. */
export function rowPermits({ allowed, doNotCallToday }: CallRow, kind?: CallKind): boolean {
  if (doNotCallToday) return false
  if (kind !== undefined) return allowed[kind]
  return allowed.manual || allowed.autodialed || allowed.ai
}

export const entryPermits = ({ onList }: InternalDncStatus): boolean => !onList

export const litigatorPermits = ({ isLitigator }: LitigatorStatus): boolean => !isLitigator

export const hoursPermit = ({ permitted }: LegalTime): boolean => permitted
