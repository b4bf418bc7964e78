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
    const failed = (cause: unknown) =>
      place(findings[index] ?? unanswered(check, questions, String(cause)))
    try {
      const found = check.run(questions, place)
      if (found instanceof Promise) waiting.push(found.then(place, failed))
      else place(found)
    } catch (cause) {
      failed(cause)
    }
  })
  if (waiting.length === 0) return findings
  const late = `not answered within ${Math.round(limit.deadlineMs)} ms`
  return settledOrLate(waiting, limit).then(() =>
    // A copy, so that an answer after the deadline changes nothing any more.
    checks.map((check, index) => findings[index] ?? unanswered(check, questions, late)),
  )
}

async function settledOrLate(
  waiting: readonly Promise<void>[],
  { deadlineMs, timers }: Limit,
): Promise<void> {
  let stop: (() => void) | undefined
  const late = new Promise<void>((resolve) => {
    stop = timers.after(deadlineMs, resolve)
  })
  await Promise.race([Promise.all(waiting), late])
  stop?.()
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
