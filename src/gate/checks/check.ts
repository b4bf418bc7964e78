/** What a check is, and how an answer becomes a finding. */
import type { Instant } from '../../domain/clock.js'
import {
  type Answered,
  type Asked,
  type Eventually,
  type InternalDncStatus,
  isOfTheQuestion,
  type LegalTime,
  type LitigatorStatus,
  type ScrubVerdict,
  type UnansweredReason,
} from '../../domain/compliance.js'
import type { CallKind, CheckName, Finding, ReasonCode, Verdict } from '../../domain/decision.js'
import { strictestFinding } from './strictest-finding.js'

/**
 * The questions about one call. Each is asked at most once, however many checks want the answer,
 * and none ever rejects.
 */
export interface CallQuestions {
  readonly callKind: CallKind
  /** By the account's clock. */
  readonly askedAt: Instant
  scrub(): Eventually<Asked<ScrubVerdict>>
  internalDnc(): Eventually<Asked<InternalDncStatus>>
  litigator(): Eventually<Asked<LitigatorStatus>>
  legalTime(): Eventually<Asked<LegalTime>>
}

export interface Check {
  readonly name: CheckName
  /**
   * `meanwhile` is told what is to stand if the finding is not there in time, where something is
   * known already; otherwise that is `unknown`.
   */
  run(questions: CallQuestions, meanwhile?: (finding: Finding) => void): Eventually<Finding>
}

export interface Judged {
  readonly verdict: Verdict
  readonly reason: ReasonCode
  readonly detail: string
  readonly opensAt?: Instant | undefined
  readonly lists?: Finding['lists']
  /** In place of the answer's own, where the judgement rests on another answer as well. */
  readonly asOf?: Instant
  readonly holdsUntil?: Instant
}

/** The check, and when it asked by the account's clock. */
export interface Subject {
  readonly check: CheckName
  readonly askedAt: Instant
}

/**
 * Turns an answer into a finding; a question that was not answered is `unknown`, never a pass. Where
 * others were asked as well (`Answered.also`), each answer is judged and each must permit.
 */
export function findingOf<T>(
  subject: Subject,
  asked: Asked<T>,
  judge: (answer: Answered<T>) => Judged,
): Finding {
  if (!asked.answered || asked.also === undefined) return findingOfOne(subject, asked, judge)
  return strictestFinding(eachAnswer(asked).map((one) => findingOfOne(subject, one, judge)))
}

/** The answer and those of everybody else who was asked, without nesting. */
export function eachAnswer<T>(asked: Asked<T>): readonly Asked<T>[] {
  if (!asked.answered || asked.also === undefined) return [asked]
  return [asked, ...asked.also.flatMap(eachAnswer)]
}

const reasonsOfSilence: Readonly<Partial<Record<UnansweredReason, ReasonCode>>> = {
  'list-missing': 'list-missing',
  'list-unusable': 'list-missing',
  'list-stale': 'list-stale',
}

function findingOfOne<T>(
  { check, askedAt }: Subject,
  asked: Asked<T>,
  judge: (answer: Answered<T>) => Judged,
): Finding {
  if (!asked.answered) {
    return {
      check,
      verdict: 'unknown',
      reason: reasonsOfSilence[asked.why] ?? 'check-unanswered',
      detail: asked.detail,
      source: asked.source,
      asOf: askedAt,
      holdsUntil: Number.NEGATIVE_INFINITY,
      isOfTheQuestion: isOfTheQuestion(asked.why),
    }
  }
  const { source, asOf, holdsUntil, staleBecause } = asked
  const finding: Finding = { check, source, asOf, holdsUntil, ...judge(asked) }
  if (staleBecause === undefined) return finding
  const seconds = Math.max(0, Math.round((askedAt - asOf) / 1000))
  const detail = `${finding.detail}; answered ${seconds} s ago; ${source}: ${staleBecause}`
  return { ...finding, detail, staleBecause }
}
