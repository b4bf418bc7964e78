/** What a check is, and how an answer becomes a finding. */
import type { Instant } from '../../domain/clock.js'
import type {
  Answered,
  Asked,
  Eventually,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
  ScrubVerdict,
} from '../../domain/compliance.js'
import type { CallKind, CheckName, Finding, ReasonCode, Verdict } from '../../domain/decision.js'

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
  run(questions: CallQuestions): Eventually<Finding>
}

/** Goes on at once when the value is there, without a turn of the event loop. */
export function when<T, R>(value: Eventually<T>, then: (value: T) => Eventually<R>): Eventually<R> {
  return value instanceof Promise ? value.then(then) : then(value)
}

export interface Judged {
  readonly verdict: Verdict
  readonly reason: ReasonCode
  readonly detail: string
  readonly opensAt?: Instant | undefined
}

/** Turns an answer into a finding; a question that was not answered is `unknown`, never a pass. */
export function findingOf<T>(
  { check, askedAt }: { readonly check: CheckName; readonly askedAt: Instant },
  asked: Asked<T>,
  judge: (answer: Answered<T>) => Judged,
): Finding {
  if (!asked.answered) {
    const missing = asked.why === 'list-missing' || asked.why === 'list-stale'
    return {
      check,
      verdict: 'unknown',
      reason: missing ? 'list-missing' : 'check-unanswered',
      detail: asked.detail,
      source: asked.source,
      asOf: askedAt,
      holdsUntil: Number.NEGATIVE_INFINITY,
    }
  }
  const { source, asOf, holdsUntil } = asked
  return { check, source, asOf, holdsUntil, ...judge(asked) }
}
