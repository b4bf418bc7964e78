/** Rulings without checks: on service codes and unusual numbers, and on allows that may not leave. */
import type { Decision, Finding, ReasonCode, Ruling } from '../domain/decision.js'
import type { ParsedDialString } from '../domain/phone-number.js'
import type { Said } from '../domain/words/words.js'
import type { Facts } from '../judge/facts.js'
import type { NumberMemo } from '../judge/judge-number.js'

/** The ruling on a dialed text, before it is recorded. */
export interface CallRuling {
  readonly number: string
  readonly ruling: Ruling
  readonly findings: readonly Finding[]
  /** The facts that the rules judged; absent if nothing was looked up. */
  readonly facts?: Facts | undefined
  /** The cached results for these facts. */
  readonly memo?: NumberMemo | undefined
  readonly says?: readonly Said[] | undefined
  /** Of the decision, if an attempt was counted for it. */
  readonly id?: string | undefined
  readonly counted?: Decision['counted']
}

/** Something stored together with an allow, such as a permit. */
export interface WithAllow {
  /**
   * Runs after the allow is recorded, within the same deadline. Resolves to a reason if the call must be blocked; a rejection blocks it too.
   */
  record(allow: Decision): Promise<ReasonCode | undefined>
  /** Called once, with the decision that is returned. */
  left(final: Decision): void
}

/** Wraps the journal's callback: runs {@link WithAllow.record} after the allow is recorded. */
export function recordNext(
  withAllow: WithAllow,
  allow: Decision,
  end: (failure?: unknown, blockReason?: ReasonCode) => void,
): (failure?: unknown) => void {
  return (failure) => {
    if (failure !== undefined) return end(failure)
    withAllow.record(allow).then((blockReason) => end(undefined, blockReason), end)
  }
}

/** Anything but an ordinary number of the North American plan. */
export type UncheckedDial = Exclude<ParsedDialString, { readonly kind: 'nanp' }>

/** Service codes pass, extensions and foreign numbers if policy allows them, other text never. */
export function ruleBeforeChecks(dialed: UncheckedDial, nonNanp: 'block' | 'allow'): CallRuling {
  switch (dialed.kind) {
    case 'service-code':
      return rulingWithoutFindings(dialed.code, 'allow', 'service-code')
    case 'extension':
    case 'foreign': {
      if (nonNanp === 'allow') return rulingWithoutFindings(dialed.digits, 'allow', 'policy-allows')
      const reason = dialed.kind === 'foreign' ? 'foreign-number' : 'extension'
      return rulingWithoutFindings(dialed.digits, 'block', reason)
    }
    case 'invalid':
      return { ...rulingWithoutFindings('', 'block', 'invalid-number'), says: dialed.says }
  }
}

export function rulingWithoutFindings(
  number: string,
  decision: 'allow' | 'block',
  reason: ReasonCode,
): CallRuling {
  return { number, ruling: createRuling(decision, reason), findings: [] }
}

/** Turns an allow that may no longer leave into a block. The effects of policy stay on the record. */
export function blockInstead(decision: Decision, reason: ReasonCode): Decision {
  const { effects, judgedAt: validUntil } = decision
  return { ...decision, ...createRuling('block', reason), effects, validUntil, seq: undefined }
}

function createRuling(decision: 'allow' | 'block', reason: ReasonCode): Ruling {
  return {
    decision,
    reason,
    effects: [],
    holdsUntil: Number.POSITIVE_INFINITY,
    nextAllowedAt: undefined,
  }
}
