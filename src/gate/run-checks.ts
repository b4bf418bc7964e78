/**
 * Asks the questions about one call within a deadline, and turns the answers into one finding per
 * check. A question that fails, or is not answered in time, makes its check `unknown`, never a pass.
 */

import {
  type Answer,
  type AnswerFailure,
  type AnswerFailureReason,
  type AnswerSuccess,
  type Compliance,
  flattenAnswers,
  isRequestError,
  type LegalTimeQuestion,
  type MaybePromise,
} from '../domain/compliance.js'
import {
  type CallKind,
  type Finding,
  pickHigherRankedReason,
  type ReasonCode,
} from '../domain/decision.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import { withTimeout } from '../runtime/wait.js'
import type { AnsweredCall, CallAnswers, Check } from './checks.js'

/** What the gate asks of calling hours beyond the plain API. */
export interface LegalTimeSettings {
  readonly recordedVoiceWindows: boolean
  readonly projectMayWiden: boolean
  readonly strictestPlace: Readonly<Record<CallKind, boolean>>
}

export type LegalTimeOptions = Pick<
  LegalTimeQuestion,
  'recordedVoice' | 'requireStatutoryWindow' | 'strictestPlace'
>

/** What a question about legal time holds for a kind of call. */
export function selectLegalTimeOptions(
  { recordedVoiceWindows, projectMayWiden, strictestPlace }: LegalTimeSettings,
  callKind: CallKind,
): LegalTimeOptions {
  return {
    recordedVoice: recordedVoiceWindows && callKind !== 'manual',
    requireStatutoryWindow: !projectMayWiden,
    strictestPlace: strictestPlace[callKind],
  }
}

export interface CallToCheck {
  readonly compliance: Compliance
  readonly question: LegalTimeQuestion
  readonly callKind: CallKind
  /** By the account's clock. */
  readonly askedAt: Instant
}

export interface CheckDeadline {
  readonly deadlineMs: number
  readonly timers: Timers
}

/** Fast answers first, since each question is asked before the next one. */
const questionOrder = ['litigator', 'internalDnc', 'legalTime', 'scrub'] as const

/** The findings in the order of the checks. Each question is asked once, whatever the checks are. */
export async function runChecks(
  checks: readonly Check[],
  { compliance, question, callKind, askedAt }: CallToCheck,
  { deadlineMs, timers }: CheckDeadline,
): Promise<readonly Finding[]> {
  const answers: Record<keyof CallAnswers, Answer<unknown> | undefined> = {
    litigator: undefined,
    internalDnc: undefined,
    legalTime: undefined,
    scrub: undefined,
  }
  const waiting: Promise<void>[] = []
  for (const name of questionOrder) {
    try {
      const answer: MaybePromise<Answer<unknown>> = compliance[name](question)
      if (answer instanceof Promise) waiting.push(awaitAnswer(name, answer, answers))
      else answers[name] = answer
    } catch (cause) {
      answers[name] = createFailure(cause)
    }
  }
  if (waiting.length > 0) {
    await withTimeout(Promise.all(waiting), deadlineMs, () => undefined, { timers })
    const detail = `not answered within ${Math.round(deadlineMs)} ms`
    for (const name of questionOrder)
      answers[name] ??= { ok: false, reason: 'deadline', detail, source: 'gate' }
  }
  // Every name holds the answer to its own question.
  const call = { callKind, askedAt, answers: answers as CallAnswers }
  const findings: Finding[] = []
  for (const check of checks) {
    const answer: Answer<JudgedValue> = call.answers[check.question]
    // If several sources answered, each answer is judged and each must permit the call.
    findings.push(
      answer.ok && answer.otherAnswers
        ? pickStrictestFinding(flattenAnswers(answer).map((one) => toFinding(check, one, call)))
        : toFinding(check, answer, call),
    )
  }
  return findings
}

async function awaitAnswer(
  name: keyof CallAnswers,
  answer: Promise<Answer<unknown>>,
  answers: Record<keyof CallAnswers, Answer<unknown> | undefined>,
): Promise<void> {
  try {
    answers[name] = await answer
  } catch (cause) {
    answers[name] = createFailure(cause)
  }
}

/** Sources never throw, and checks neither; if one does all the same, nothing was answered. */
function createFailure(cause: unknown): AnswerFailure {
  return { ok: false, reason: 'source-failed', detail: String(cause), source: 'gate' }
}

type JudgedValue = Parameters<Check['judge']>[0]['value']

/** Judges the answer of one source. */
function toFinding(check: Check, answer: Answer<JudgedValue>, call: AnsweredCall): Finding {
  if (!answer.ok) return createUnknownFinding(check, call, answer)
  const { source, asOf, holdsUntil, staleReason } = answer
  try {
    const result = check.judge(answer, call)
    // Every field is named: this is built four times per call, and a spread is slow.
    return {
      check: check.name,
      verdict: result.verdict,
      reason: result.reason,
      detail:
        staleReason === undefined ? result.detail : describeStale(result.detail, answer, call),
      source,
      asOf: result.asOf ?? asOf,
      holdsUntil: result.holdsUntil ?? holdsUntil,
      opensAt: result.opensAt,
      staleReason,
      lists: result.lists,
    }
  } catch (cause) {
    return createUnknownFinding(check, call, createFailure(cause))
  }
}

function describeStale(
  detail: string,
  { source, asOf, staleReason }: AnswerSuccess<unknown>,
  { askedAt }: AnsweredCall,
): string {
  const seconds = Math.max(0, Math.round((askedAt - asOf) / 1000))
  return `${detail}; answered ${seconds} s ago; ${source}: ${staleReason}`
}

const listFailureReasons: Readonly<Partial<Record<AnswerFailureReason, ReasonCode>>> = {
  'list-missing': 'list-missing',
  'list-unusable': 'list-missing',
  'list-stale': 'list-stale',
}

function createUnknownFinding(
  { name }: Check,
  { askedAt }: AnsweredCall,
  { reason, detail, source }: AnswerFailure,
): Finding {
  return {
    check: name,
    verdict: 'unknown',
    reason: listFailureReasons[reason] ?? 'check-unanswered',
    detail,
    source,
    asOf: askedAt,
    holdsUntil: Number.NEGATIVE_INFINITY,
    isRequestError: isRequestError(reason),
  }
}

/**
 * The deny whose reason ranks highest; otherwise an unknown, preferably one that the request itself
 * caused; otherwise a pass of all sources together.
 */
function pickStrictestFinding(findings: readonly Finding[]): Finding {
  const denials = findings.filter(({ verdict }) => verdict === 'deny')
  if (denials.length > 0) {
    // The call opens when the last denial ends; not known if one of them does not say.
    const openings = denials.flatMap(({ opensAt }) => opensAt ?? [])
    const opensAt = openings.length === denials.length ? Math.max(...openings) : undefined
    return { ...pickHighestRanking(denials), opensAt }
  }
  const unknowns = findings.filter(({ verdict }) => verdict === 'unknown')
  if (unknowns.length === 0) return combinePasses(findings)
  return (
    unknowns.find(({ isRequestError }) => isRequestError === true) ?? pickHighestRanking(unknowns)
  )
}

/** The first finding of the highest rank. */
function pickHighestRanking(findings: readonly Finding[]): Finding {
  return findings.reduce((one, other) =>
    pickHigherRankedReason(one.reason, other.reason) === one.reason ? one : other,
  )
}

/** Holds as long as every pass does, and is as old as the oldest. */
function combinePasses(findings: readonly Finding[]): Finding {
  const { check, verdict, reason } = pickHighestRanking(findings)
  const details = new Set(findings.map(({ detail }) => detail))
  const staleReasons = new Set(findings.flatMap(({ staleReason }) => staleReason ?? []))
  const lists = findings.flatMap((finding) => (finding.lists ? [finding.lists] : []))
  return {
    check,
    verdict,
    reason,
    detail:
      details.size === 1
        ? [...details].join('')
        : findings.map(({ source, detail }) => `${source}: ${detail}`).join('; '),
    source: [...new Set(findings.map(({ source }) => source))].join(', '),
    asOf: Math.min(...findings.map(({ asOf }) => asOf)),
    holdsUntil: Math.min(...findings.map(({ holdsUntil }) => holdsUntil)),
    staleReason: staleReasons.size === 0 ? undefined : [...staleReasons].join('; '),
    lists: lists.length < 2 ? lists[0] : [...new Set(lists.flat())],
  }
}
