/** The failures of questions to a provider, with the texts shown in findings. */

import type { AnswerFailure } from '../../../domain/compliance.js'
import { getErrorMessage } from '../../../errors.js'

export interface QuestionFailure extends Pick<AnswerFailure, 'reason'> {
  /** What happened, for logs and as a quotation in findings. */
  readonly detail: string
}

export function toAnswerFailure(
  { reason, detail: quote }: QuestionFailure,
  source: string,
): AnswerFailure {
  return { ok: false, reason, says: [{ code: reason, quote }], source }
}

export const closingFailure: QuestionFailure = { reason: 'source-failed', detail: 'closing' }

/** Converts an error thrown by a bug in this program, since callers must never get an exception. */
export function createThrownFailure(cause: unknown): QuestionFailure {
  return { reason: 'source-failed', detail: getErrorMessage(cause) }
}

export function createCircuitOpenFailure(failure: string): QuestionFailure {
  return {
    reason: 'circuit-open',
    detail: `requests are paused after repeated failures: ${failure}`,
  }
}

export function createRateLimitedFailure(waitMs: number): QuestionFailure {
  const seconds = Math.ceil(waitMs / 1000)
  return { reason: 'rate-limited', detail: `no request may be sent for ${seconds} s` }
}

export function createOverloadedFailure(queued: number): QuestionFailure {
  return { reason: 'overloaded', detail: `${queued} questions are already waiting` }
}

export function createDeadlineFailure(isSent: boolean, limitMs: number): QuestionFailure {
  const what = isSent ? 'no answer' : 'could not be asked'
  return { reason: 'deadline', detail: `${what} within ${limitMs} ms` }
}
