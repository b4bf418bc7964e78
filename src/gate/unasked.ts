/** Rulings that take no asking: of what is no ordinary number, and of what may not be given. */
import type { Decision, Finding, ReasonCode, Ruling } from '../domain/decision.js'
import type { Dialed } from '../domain/phone-number.js'

/** What the rules say of a dialed text, before it is recorded. */
export interface Judgement {
  readonly number: string
  readonly ruling: Ruling
  readonly findings: readonly Finding[]
  readonly detail?: string | undefined
}

/** Anything but an ordinary number of the North American plan. */
export type Unasked = Exclude<Dialed, { readonly kind: 'nanp' }>

/** Service codes pass; extensions and foreign numbers do as policy says; what is no number never. */
export function judgeUnasked(dialed: Unasked, nonNanp: 'block' | 'allow'): Judgement {
  switch (dialed.kind) {
    case 'service-code':
      return restingOnNothing(dialed.code, 'allow', 'service-code')
    case 'extension':
    case 'foreign': {
      if (nonNanp === 'allow') return restingOnNothing(dialed.digits, 'allow', 'policy-allows')
      const reason = dialed.kind === 'foreign' ? 'foreign-number' : 'extension'
      return restingOnNothing(dialed.digits, 'block', reason)
    }
    case 'invalid':
      return { ...restingOnNothing('', 'block', 'invalid-number'), detail: dialed.detail }
  }
}

/** A ruling without any finding. */
export function restingOnNothing(
  number: string,
  decision: 'allow' | 'block',
  reason: ReasonCode,
): Judgement {
  return { number, ruling: ruled(decision, reason), findings: [] }
}

/** An allow that may not be given any more; what policy had set aside stays on the record. */
export function withheld(decision: Decision, reason: ReasonCode): Decision {
  const { effects, judgedAt: validUntil } = decision
  return { ...decision, ...ruled('block', reason), effects, validUntil }
}

function ruled(decision: 'allow' | 'block', reason: ReasonCode): Ruling {
  return {
    decision,
    reason,
    effects: [],
    holdsUntil: Number.POSITIVE_INFINITY,
    nextAllowedAt: undefined,
  }
}
