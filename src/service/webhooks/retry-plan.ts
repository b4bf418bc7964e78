/** Whether and when an event is sent again after an attempt that delivered nothing. */
import { type Instant, parseHttpDate } from '../../domain/clock.js'
import { sendFailures } from './sender.js'

/** What became of one attempt, and the label it is counted under. */
export const attemptOutcomes = ['delivered', 'bad-status', ...sendFailures] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]

export interface AttemptResult {
  readonly sentAt: Instant
  readonly outcome: AttemptOutcome
  /** `null` when no answer came. */
  readonly httpStatus: number | null
  /** Why it is no delivery; absent when it is one. */
  readonly problem?: string
  /** The header of that name, as received. */
  readonly retryAfter?: string | undefined
}

export interface RetryPlan {
  /** Pauses before the second, third, ... attempt. */
  readonly retryMs: readonly number[]
  /** From 0 up to, not including, 1. */
  readonly random: () => number
}

/** Pauses are longer by up to this share, so that what failed together does not return together. */
const jitter = 0.1

const gone = 410

/**
 * When the event is due again; `undefined` when that attempt was its last. A receiver that is gone
 * (RFC 9110, 15.5.11) and what can never be sent end it early. A `Retry-After` makes a pause longer,
 * never shorter, and at most as long as the longest of the plan.
 */
export function nextAttemptAt(
  { attempt, result, now }: { attempt: number; result: AttemptResult; now: Instant },
  { retryMs, random }: RetryPlan,
): Instant | undefined {
  const pauseMs = retryMs[attempt - 1]
  const isLast = result.httpStatus === gone || isHopeless(result.outcome)
  if (pauseMs === undefined || isLast) return undefined
  const askedMs = Math.min(askedPauseMs(result.retryAfter, now), Math.max(...retryMs))
  return now + Math.ceil(Math.max(pauseMs * (1 + jitter * random()), askedMs))
}

function isHopeless(outcome: AttemptOutcome): boolean {
  return outcome === 'bad-url' || outcome === 'bad-header'
}

/** RFC 9110, 10.2.3: seconds or a date; 0 for what cannot be read. */
function askedPauseMs(header: string | undefined, now: Instant): number {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  return (parseHttpDate(text) ?? now) - now
}
