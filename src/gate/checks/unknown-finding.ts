/** What a check finds whose question was not answered, or not lately. */
import {
  type AnswerFailure,
  type AnswerFailureReason,
  type AnswerSuccess,
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

export function describeStale(
  detail: string,
  { source, asOf, staleReason }: AnswerSuccess<unknown>,
  askedAt: Instant,
): string {
  const seconds = Math.max(0, Math.round((askedAt - asOf) / 1000))
  return `${detail}; answered ${seconds} s ago; ${source}: ${staleReason}`
}

/** Sources never throw, and checks neither; if one does all the same, nothing was answered. */
export function createFailure(cause: unknown): AnswerFailure {
  return { ok: false, reason: 'source-failed', detail: String(cause), source: 'gate' }
}
