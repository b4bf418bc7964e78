/** Whether the consent that a call rests on permits it, and is shown by as much as the operator asks for. */
import { type CallRow, type ResultLetter, rankEvidence } from '../../domain/compliance.js'
import type { ReasonCode } from '../../domain/decision.js'
import type { Said } from '../../domain/words/words.js'
import type { CallWithFacts } from '../judged.js'

/** What a consent is judged for. */
export type CallWithConsent = Pick<CallWithFacts, 'call' | 'purpose' | 'settings'>

export interface ConsentProblem {
  readonly reason: ReasonCode
  readonly says: Said
}

/** `undefined` if there is nothing to object to, or no permission on file. */
export function findConsentProblem(
  { consent, ebrType }: CallRow,
  { call: { callKind }, purpose: { purpose }, settings: { aiConsentEvidence } }: CallWithConsent,
): ConsentProblem | undefined {
  if (ebrType !== 'P') return undefined
  // Without its id, which the facts have: what is said stays when the number is erased.
  const { kinds, purposes, evidence = 'none' } = consent ?? {}
  if (kinds && !kinds.includes(callKind)) {
    return { reason: 'no-consent', says: { code: 'consent-kinds', params: { kinds } } }
  }
  if (purposes && !purposes.includes(purpose)) {
    return { reason: 'no-consent', says: { code: 'consent-purposes', params: { purposes } } }
  }
  if (callKind !== 'ai' || rankEvidence(evidence) >= rankEvidence(aiConsentEvidence))
    return undefined
  const params = { evidence, needed: aiConsentEvidence }
  return { reason: 'consent-unproven', says: { code: 'consent-evidence', params } }
}

/** Letters of numbers with a relationship or consent on file that is current. */
export const relatedLetters: ReadonlySet<ResultLetter> = new Set(['E', 'O', 'G', 'H', 'F', 'V'])

/** Whether a call that is not for telemarketing needs a permission record. */
export function needsPermission(
  row: CallRow,
  { call: { callKind }, purpose: { machines } }: Pick<CallWithConsent, 'call' | 'purpose'>,
): boolean {
  if (callKind === 'manual' || machines === 'unlimited') return false
  return callKind === 'ai' || machines === 'permission' || row.lineClass !== 'wireline'
}
