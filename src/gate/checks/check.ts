/** What a check is: it judges the answer to one question about a call. */
import type {
  Answer,
  AnswerSuccess,
  ConsentEvidence,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
  ScrubVerdict,
} from '../../domain/compliance.js'
import type {
  CallKind,
  CheckName,
  Finding,
  PurposeRules,
  ReasonCode,
  Verdict,
} from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Said } from '../../domain/words/words.js'

/** What each question of the port is answered with. */
interface AnswerValues {
  readonly litigator: LitigatorStatus
  readonly internalDnc: InternalDncStatus
  readonly legalTime: LegalTime
  readonly scrub: ScrubVerdict
}

export type CallAnswers = { readonly [Name in keyof AnswerValues]: Answer<AnswerValues[Name]> }

/** A call, and the answers to all questions about it. */
export interface AnsweredCall {
  readonly callKind: CallKind
  readonly purpose: PurposeRules
  /** By the account's clock. */
  readonly askedAt: Instant
  readonly answers: CallAnswers
  /** What must show the consent to an AI call. */
  readonly aiConsentEvidence: ConsentEvidence
}

export interface Check<Name extends keyof AnswerValues = keyof AnswerValues> {
  readonly name: CheckName
  /** Without an answer to this question, the finding is `unknown`. */
  readonly question: Name
  /** Judges the answer of one source. If several sources answered, each of them must permit the call. */
  judge(answer: AnswerSuccess<AnswerValues[Name]>, call: AnsweredCall): CheckResult
  /** Whether it reads other answers too; if not, a call of the same kind has the same result. */
  readsOtherAnswers?(answer: AnswerSuccess<AnswerValues[Name]>): boolean
}

export interface CheckResult {
  readonly verdict: Verdict
  readonly reason: ReasonCode
  readonly says: readonly Said[]
  readonly opensAt?: Instant | undefined
  readonly lists?: Finding['lists']
  readonly facts?: Finding['facts']
  readonly places?: Finding['places']
  readonly hasPermission?: Finding['hasPermission']
  readonly relationship?: Finding['relationship']
  /** Replaces the answer's own if the judgment also depends on another answer. */
  readonly asOf?: Instant
  readonly holdsUntil?: Instant
}
