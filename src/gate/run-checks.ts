/**
 * Runs the checks side by side within a deadline. Always gives one finding per check: what throws,
 * rejects or has not answered in time is `unknown`, unless the check has said what stands meanwhile.
 */
import type { Timers } from '../domain/clock.js'
import type { Eventually } from '../domain/compliance.js'
import type { Finding } from '../domain/decision.js'
import type { CallQuestions, Check } from './checks/check.js'

export interface Limit {
  readonly deadlineMs: number
  readonly timers: Timers
}

export function runChecks(
  checks: readonly Check[],
  questions: CallQuestions,
  limit: Limit,
): Eventually<readonly Finding[]> {
  const findings: Finding[] = []
  const waiting: Promise<void>[] = []
  checks.forEach((check, index) => {
    const place = (finding: Finding) => {
      findings[index] = finding
    }
    const started = start(check, questions, place)
    if (started instanceof Promise) {
      findings[index] ??= unanswered(check, questions, `not answered within ${limit.deadlineMs} ms`)
      const failed = (cause: unknown) => place(unanswered(check, questions, String(cause)))
      waiting.push(started.then(place, failed))
    } else place(started)
  })
  return waiting.length === 0 ? findings : settledOrLate(waiting, findings, limit)
}

function start(
  check: Check,
  questions: CallQuestions,
  meanwhile: (finding: Finding) => void,
): Eventually<Finding> {
  try {
    return check.run(questions, meanwhile)
  } catch (cause) {
    return unanswered(check, questions, String(cause))
  }
}

/** A copy is given, so that an answer after the deadline changes nothing any more. */
async function settledOrLate(
  waiting: readonly Promise<void>[],
  findings: readonly Finding[],
  { deadlineMs, timers }: Limit,
): Promise<readonly Finding[]> {
  let stop: (() => void) | undefined
  const late = new Promise<void>((resolve) => {
    stop = timers.after(deadlineMs, resolve)
  })
  await Promise.race([Promise.all(waiting), late])
  stop?.()
  return [...findings]
}

function unanswered({ name }: Check, { askedAt }: CallQuestions, detail: string): Finding {
  return {
    check: name,
    verdict: 'unknown',
    reason: 'check-unanswered',
    detail,
    source: 'gate',
    asOf: askedAt,
    holdsUntil: Number.NEGATIVE_INFINITY,
  }
}
