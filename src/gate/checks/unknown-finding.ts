/** What a check finds whose question was not answered. */
import {
  type AnswerFailure,
  type AnswerFailureReason,
  isRequestError,
} from '../../domain/compliance.js'
import type { CheckName, Finding, ReasonCode } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'

const listFailureReasons: Readonly<Partial<Record<AnswerFailureReason, ReasonCode>>> = {
  'list-missing': 'list-missing',
  'list-unusable': 'list-missing',
  'list-stale': 'list-stale',
}

export function createUnknownFinding(
  check: CheckName,
  askedAt: Instant,
  { reason, detail, source }: AnswerFailure,
): Finding {
  return {
    check,
    verdict: 'unknown',
    reason: listFailureReasons[reason] ?? 'check-unanswered',
    detail,
    source,
    asOf: askedAt,
    holdsUntil: Number.NEGATIVE_INFINITY,
    isRequestError: isRequestError(reason),
  }
}
