/** The questions about one call, put through the compliance port at most once each. */
import type { Instant } from '../domain/clock.js'
import type { Asked, Compliance, Eventually, Question, ScrubVerdict } from '../domain/compliance.js'
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
    legalTime: () =>
      compliance.legalTime({
        recordedVoice: standards.recordedVoiceWindows && callKind !== 'manual',
        lawToo: !standards.projectMayWiden,
        strictestPlace: standards.strictestPlace[callKind],
        ...question,
      }),
  }
}
