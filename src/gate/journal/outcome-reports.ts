/** Reports of what became of a call, from those who asked whether it may be placed. */
import type { OutcomeReport } from '../../api/gate/call-events.js'
import { type CallOutcome, findReach } from '../../domain/call-outcome.js'
import type { Caller } from '../../domain/caller.js'
import { callPurposes } from '../../domain/decision.js'
import type { AttemptReports, ReportedAttempt } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, parseInstant } from '../../domain/time/dates.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { DecisionDocument } from '../decision-document.js'

/** Clocks differ by as much. */
const toleranceMs = 60_000

const times = ['at', 'dialledAt', 'answeredAt', 'failedAt', 'endedAt'] as const

/**
 * Counts the attempt of a decision by a report, and returns what goes into its record. Throws `invalid-request` for
 * impossible times, `forbidden` if the key may not take calls back, and `conflict` if there was no call or it has left.
 */
export async function applyReport(
  report: OutcomeReport,
  {
    document,
    caller,
    now,
    attempts,
  }: {
    readonly document: DecisionDocument
    readonly caller: Caller
    readonly now: Instant
    readonly attempts: AttemptReports
  },
): Promise<Partial<CallOutcome>> {
  requirePossibleTimes(report, document, now)
  if (document.decision !== 'allow') throw conflict(document, 'the call was blocked')
  if (document.whatIf) throw conflict(document, 'it is a what-if, which no call follows')
  const { state, at, ...rest } = report
  if (state === 'not-placed') {
    await releaseUnplaced(document, caller, attempts)
    const { leg, dialStatus, cause } = rest
    return {
      state: 'not-carried-out',
      notCarriedOut: 'not-placed',
      notCarriedOutAt: at,
      ...{ leg, dialStatus, cause },
    }
  }
  const outcome: Partial<CallOutcome> = { state, ...rest, ...(at && { [`${state}At`]: at }) }
  if (isCounted(document)) {
    const dialedAt =
      outcome.dialledAt ?? (state === 'dialled' ? findFirstReport(document, now) : undefined)
    const answeredAt = outcome.answeredAt ?? parseInstant(document.outcome?.answeredAt ?? '')
    await attempts.notePlaced(toAttempt(document), {
      dialedAt: dialedAt && Math.min(dialedAt, now),
      reach: findReach({ ...outcome, answeredAt }),
    })
  }
  return outcome
}

/** A report without a time that comes again must not move the attempt again. */
function findFirstReport({ outcome }: DecisionDocument, now: Instant): Instant | undefined {
  return isPlaced(outcome?.state) ? undefined : now
}

async function releaseUnplaced(
  document: DecisionDocument,
  { keyId, limits }: Caller,
  attempts: AttemptReports,
): Promise<void> {
  if (limits.mandate?.attempts) {
    const rule = `the attempts of key ${keyId} are limited, so it cannot take one back`
    throw new AppError('forbidden', `state 'not-placed': ${rule}; report it with another key`)
  }
  const left = 'the call has left, so it cannot be not-placed'
  if (isPlaced(document.outcome?.state)) throw conflict(document, left)
  if (!isCounted(document)) return
  const result = await attempts.noteNotPlaced(toAttempt(document))
  if (result === 'placed') throw conflict(document, left)
  if (result === 'has-permit')
    throw conflict(document, 'its call has a permit; release that: POST /v1/permits/{id}/release')
}

const isPlaced = (state: string | undefined) =>
  state === 'dialled' || state === 'answered' || state === 'failed'

/** Calls that nothing limits are no attempts, so nothing is written for them. */
function isCounted({ findings, mandate }: DecisionDocument): boolean {
  return mandate?.remaining !== undefined || findings.some(({ check }) => check === 'attempts')
}

function toAttempt(document: DecisionDocument): ReportedAttempt {
  const { id, keyId = '', accountId, subject, personId, number, erased, decidedAt } = document
  const purpose = callPurposes.find((one) => one === document.purpose && one !== 'telemarketing')
  const at = parseInstant(decidedAt) ?? 0
  return {
    ...{ decisionId: id, keyId, accountId, subject, personId, purpose, at },
    number: erased ? undefined : number,
  }
}

function requirePossibleTimes(
  report: OutcomeReport,
  { decidedAt }: DecisionDocument,
  now: Instant,
): void {
  const earliest = (parseInstant(decidedAt) ?? 0) - toleranceMs
  const problems = times.flatMap((field) => {
    const at = report[field]
    if (at === undefined || (at >= earliest && at <= now + toleranceMs)) return []
    const rule =
      at < earliest
        ? `must not be before the decision, at ${decidedAt}`
        : `must not be in the future; it is ${formatInstant(now)}`
    return [{ field, value: formatInstant(at), rule }]
  })
  if (problems.length > 0) throw invalidRequest(problems)
}

function conflict({ id }: DecisionDocument, why: string): AppError {
  return new AppError('conflict', `Decision '${id}': ${why}`)
}
