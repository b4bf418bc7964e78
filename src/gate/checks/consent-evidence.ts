/** Whether the consent that a call rests on permits it, and is shown by as much as the operator asks for. */
import { rankEvidence, type ScrubVerdict } from '../../domain/compliance.js'
import type { ReasonCode } from '../../domain/decision.js'
import type { AnsweredCall } from './check.js'

export interface ConsentProblem {
  readonly reason: ReasonCode
  readonly text: string
}

/** `undefined` if there is nothing to object to, or no permission on file. */
export function findConsentProblem(
  { consent, ebrType }: ScrubVerdict,
  {
    callKind,
    purpose: { purpose },
    aiConsentEvidence,
  }: Pick<AnsweredCall, 'callKind' | 'purpose' | 'aiConsentEvidence'>,
): ConsentProblem | undefined {
  if (ebrType !== 'P') return undefined
  // Without its id, which the facts have: a detail stays when the number is erased.
  const { kinds, purposes, evidence = 'none' } = consent ?? {}
  if (kinds && !kinds.includes(callKind)) {
    return { reason: 'no-consent', text: `the consent permits only ${kinds.join(', ')}` }
  }
  if (purposes && !purposes.includes(purpose)) {
    return { reason: 'no-consent', text: `the consent is only for ${purposes.join(', ')}` }
  }
  if (callKind !== 'ai' || rankEvidence(evidence) >= rankEvidence(aiConsentEvidence))
    return undefined
  const text = `evidence of the consent: ${evidence}; gate.aiConsentEvidence asks for ${aiConsentEvidence}`
  return { reason: 'consent-unproven', text }
}
