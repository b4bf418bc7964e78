/** The questions about one call, put through the compliance port at most once each. */
import type { Instant } from '../domain/clock.js'
import type {
  Asked,
  Compliance,
  Eventually,
  LegalTimeQuestion,
  Question,
  ScrubVerdict,
} from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'
import type { CallQuestions } from './checks/check.js'

/** What the gate asks of calling hours beyond the plain API. */
export interface GateStandards {
  readonly recordedVoiceWindows: boolean
  readonly projectMayWiden: boolean
  readonly strictestPlace: Readonly<Record<CallKind, boolean>>
}

export interface AskedAbout {
  readonly compliance: Compliance
  readonly callKind: CallKind
  readonly askedAt: Instant
  readonly standards: GateStandards
}

export function askAbout(question: Question, about: AskedAbout): CallQuestions {
  const { compliance, callKind, askedAt, standards } = about
  let row: Eventually<Asked<ScrubVerdict>> | undefined
  return {
    callKind,
    askedAt,
    scrub() {
      row ??= compliance.scrub(question)
      return row
    },
    internalDnc: () => compliance.internalDnc(question),
    litigator: () => compliance.litigator(question),
    legalTime() {
      const { recordedVoice, lawToo, strictestPlace } = standardsOf(standards, callKind)
      // Named fields first: an object that begins with a spread takes V8 a hundred times as long.
      return compliance.legalTime({ recordedVoice, lawToo, strictestPlace, ...question })
    },
  }
}

/** What a kind of call asks of legal time beyond number and place. */
export function standardsOf(
  { recordedVoiceWindows, projectMayWiden, strictestPlace }: GateStandards,
  callKind: CallKind,
): Pick<LegalTimeQuestion, 'recordedVoice' | 'lawToo' | 'strictestPlace'> {
  return {
    recordedVoice: recordedVoiceWindows && callKind !== 'manual',
    lawToo: !projectMayWiden,
    strictestPlace: strictestPlace[callKind],
  }
}
