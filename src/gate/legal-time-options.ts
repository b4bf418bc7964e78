/** What the gate asks of calling hours beyond the plain API, for each kind of call. */
import type { LegalTimeQuestion } from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'

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
): LegalTimeOptions {
  return {
    recordedVoice: recordedVoiceWindows && callKind !== 'manual',
    requireStatutoryWindow: !projectMayWiden,
    strictestPlace: strictestPlace[callKind],
  }
}
