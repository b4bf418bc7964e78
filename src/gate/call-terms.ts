/** What is asked of the calling hours of a call beyond the plain API, by its kind. */
import type { LegalTimeQuestion } from '../domain/compliance.js'
import { type CallKind, type PurposeRules, telemarketing } from '../domain/decision.js'

export interface LegalTimeSettings {
  readonly recordedVoiceWindows: boolean
  readonly projectMayWiden: boolean
  readonly strictestPlace: Readonly<Record<CallKind, boolean>>
}

export type LegalTimeOptions = Pick<
  LegalTimeQuestion,
  'recordedVoice' | 'requireStatutoryWindow' | 'strictestPlace'
>

export function prepareLegalTimeOptions(
  settings: LegalTimeSettings,
): Readonly<Record<CallKind, LegalTimeOptions>> {
  return {
    manual: selectLegalTimeOptions(settings, 'manual'),
    autodialed: selectLegalTimeOptions(settings, 'autodialed'),
    ai: selectLegalTimeOptions(settings, 'ai'),
  }
}

/** What a question about legal time holds for a kind of call. */
export function selectLegalTimeOptions(
  { recordedVoiceWindows, projectMayWiden, strictestPlace }: LegalTimeSettings,
  callKind: CallKind,
  { machines }: Pick<PurposeRules, 'machines'> = telemarketing,
): LegalTimeOptions {
  return {
    recordedVoice: recordedVoiceWindows && callKind !== 'manual' && machines !== 'unlimited',
    requireStatutoryWindow: !projectMayWiden,
    strictestPlace: strictestPlace[callKind],
  }
}
