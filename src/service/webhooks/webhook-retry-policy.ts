/** Decides whether and when an event is sent again after a failed attempt. */
import type { Instant } from '../../domain/time/clock.js'
import { parseRetryAfter } from '../../runtime/backoff.js'
import { sendFailures } from './webhook-sender.js'

/** The outcome of an attempt; also a label of the metrics. */
export const attemptOutcomes = ['delivered', 'bad-status', ...sendFailures] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]

export interface AttemptResult {
  readonly sentAt: Instant
  readonly outcome: AttemptOutcome
  /** `null` if there was no response. */
  readonly httpStatus: number | null
  /** Why the delivery failed; absent on success. */
  readonly problem?: string
  /** The `Retry-After` header as received. */
  readonly retryAfter?: string | undefined
}

export interface WebhookRetryPolicy {
  /** Pauses before the second, third, ... attempt. */
  readonly retryMs: readonly number[]
  /** From 0 up to, not including, 1. */
  readonly random: () => number
}

/** Pauses are lengthened by up to this fraction, so that events that failed together are spread out. */
const jitter = 0.1

const goneStatus = 410

/**
 * When the event is due again; `undefined` after its last attempt. Status 410 (RFC 9110, 15.5.11) and
 * permanent failures end the retries early. `Retry-After` can lengthen a pause, up to the longest
 * configured one, but not shorten it.
 */
export function computeNextAttemptAt(
  { attempt, result, now }: { attempt: number; result: AttemptResult; now: Instant },
  { retryMs, random }: WebhookRetryPolicy,
): Instant | undefined {
  const pauseMs = retryMs[attempt - 1]
  const isLast = result.httpStatus === goneStatus || isPermanent(result.outcome)
  if (pauseMs === undefined || isLast) return undefined
  const requestedMs = Math.min(parseRetryAfter(result.retryAfter, now) ?? 0, Math.max(...retryMs))
  return now + Math.ceil(Math.max(pauseMs * (1 + jitter * random()), requestedMs))
}

function isPermanent(outcome: AttemptOutcome): boolean {
  return outcome === 'bad-url' || outcome === 'bad-header'
}
