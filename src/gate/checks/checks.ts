/**
 * The four checks of every call. Each judges the answer to one question; the questions are asked once,
 * within a deadline. One that fails, or is not answered in time, makes its check `unknown`, never a pass.
 */

import {
  type Answer,
  type AnswerFailure,
  type AnswerFailureReason,
  type AnswerSuccess,
  type Compliance,
  type ConsentEvidence,
  flattenAnswers,
  isRequestError,
  type LegalTime,
  type LegalTimeQuestion,
  type MaybePromise,
  mapMaybePromise,
  type Question,
  type ScrubVerdict,
} from '../../domain/compliance.js'
import type { RequiredConsent } from '../../domain/consent/consent-records.js'
import {
  type CallKind,
  type CheckName,
  type Finding,
  type PurposeRules,
  type ReasonCode,
  telemarketing,
} from '../../domain/decision.js'
import type { ReassignedSource } from '../../domain/lookups.js'
import type { Instant, Timers } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { findPlaces } from '../../judge/places.js'
import { withTimeout } from '../../runtime/runtime.js'
import type { GateRules } from '../gate-deps.js'
import type { AnsweredCall, CallAnswers, Check } from './check.js'
import { pickStrictestFinding } from './combine-findings.js'
import { findConsentProblem } from './consent-evidence.js'
import { type FindExceptions, liftHours } from './exceptions.js'
import { permissionCheck } from './permission.js'
import { addReassigned } from './reassigned.js'
import { requireConsent } from './required-consent.js'

/** By an entry of a list of ours, or none. */
export const entryJudgments = {
  litigator: { verdict: 'deny', reason: 'litigator', says: [{ code: 'litigator' }] },
  noLitigator: { verdict: 'pass', reason: 'permitted', says: [{ code: 'no-litigator' }] },
  notOptedOut: { verdict: 'pass', reason: 'permitted', says: [{ code: 'not-on-internal-list' }] },
} as const satisfies Readonly<Record<string, Pick<Finding, 'verdict' | 'reason' | 'says'>>>

/** Known TCPA litigators are not called; consent does not override this. */
export const litigatorCheck: Check<'litigator'> = {
  name: 'litigator',
  question: 'litigator',
  judge({ value: { isLitigator, list } }) {
    const { litigator, noLitigator } = entryJudgments
    return { ...(isLitigator ? litigator : noLitigator), lists: list && [list] }
  },
}

/**
 * People who asked not to be called again are not called, unless they gave written permission
 * after that (spec, "Internal DNC membership": a newer Permission EBR overrides an entry).
 *
 * Only the source that keeps both the entry and the permission can say which is newer. So an entry is
 * overridden only by a scrub row of its own source, and if several sources list the number, each of
 * them must have such a row.
 */
export const internalDncCheck: Check<'internalDnc'> = {
  name: 'internal-dnc',
  question: 'internalDnc',
  /**
   * A listed number without a row that shows a newer permission is denied, not unknown: policy on
   * unknowns must not allow a number that is known to be listed because its scrub is late.
   */
  judge(entry, call) {
    const { answers, purpose } = call
    const { onList, addedAt, facts } = entry.value
    if (!onList) return entryJudgments.notOptedOut
    const listed = sayListed(addedAt)
    const row = findFreshRow(entry.source, answers.scrub)
    if (row?.value.ebrType !== 'P') {
      return { verdict: 'deny', reason: 'internal-dnc', says: [listed], facts }
    }
    const { letter, optOut } = row.value
    // A ban on sales calls to mobile numbers forbids no others.
    const isUnbanned = letter === 'V' && purpose.purpose !== 'telemarketing'
    if (letter === 'O' || letter === 'H' || isUnbanned) {
      const problem = findConsentProblem(row.value, call)
      if (problem) {
        const says = [listed, problem.says]
        return { verdict: 'deny', reason: 'internal-dnc', says, facts }
      }
      return {
        verdict: 'pass',
        reason: 'permitted',
        says: [listed, { code: 'newer-permission' }],
        asOf: Math.min(entry.asOf, row.asOf),
        holdsUntil: Math.min(entry.holdsUntil, row.holdsUntil),
        facts,
      }
    }
    if (letter !== 'P') return { verdict: 'deny', reason: 'internal-dnc', says: [listed], facts }
    const why = optOut ? row.value.says : []
    if (optOut === 'not-lifted') {
      return { verdict: 'deny', reason: 'internal-dnc', says: [listed, ...why], facts }
    }
    const revoked: readonly Said[] = why.length > 0 ? why : [{ code: 'newer-opt-out' }]
    return { verdict: 'deny', reason: 'consent-revoked', says: [listed, ...revoked], facts }
  },
  readsOtherAnswers: ({ value }) => value.onList,
}

function sayListed(addedAt: Instant | undefined): Said {
  if (addedAt === undefined) return { code: 'on-internal-list' }
  return { code: 'on-internal-list-since', params: { since: formatDay(toUtcDay(addedAt)) } }
}

/**
 * The row of that source. A stale row shows no permission, since it may have been withdrawn
 * meanwhile; answers beside a stale answer were kept just as long.
 */
function findFreshRow(
  source: string,
  scrub: Answer<ScrubVerdict>,
): AnswerSuccess<ScrubVerdict> | undefined {
  if (!scrub.ok || scrub.notRenewed !== undefined) return undefined
  for (const row of flattenAnswers(scrub)) {
    if (row.ok && row.source === source && row.notRenewed === undefined) return row
  }
  return undefined
}

/** Calls are placed only within the lawful hours of every place the called party may be in. */
export const callingHoursCheck: Check<'legalTime'> = {
  name: 'calling-hours',
  question: 'legalTime',
  judge({ value: legalTime }) {
    const { status, placeSource: source, permitted, restrictedDay, opensAt } = legalTime
    const { places, facts } = legalTime
    if (status !== 'OK') {
      return { verdict: 'deny', reason: statusReasons[status], says: legalTime.says }
    }
    // Shows a reader how reliable the place is.
    const says: readonly Said[] =
      source === undefined
        ? legalTime.says
        : [...legalTime.says, { code: 'place-by', params: { source } }]
    if (permitted) return { verdict: 'pass', reason: 'permitted', says, places, facts }
    return {
      verdict: 'deny',
      places,
      facts,
      reason: restrictedDay === undefined ? 'outside-calling-hours' : 'restricted-day',
      says,
      opensAt: opensAt ?? Number.POSITIVE_INFINITY,
    }
  },
}

const statusReasons: Readonly<Record<Exclude<LegalTime['status'], 'OK'>, ReasonCode>> = {
  INVALID_PHONE: 'invalid-number',
  INVALID_PROJECT: 'unknown-project',
  INVALID_DATE: 'check-unanswered',
  TOLL_FREE: 'toll-free',
  UNKNOWN_NXX: 'unknown-prefix',
}

/** The checks of every call, in the order of their findings. */
export const allChecks: readonly Check[] = [
  litigatorCheck,
  internalDncCheck,
  callingHoursCheck,
  permissionCheck,
]

export interface CallToCheck {
  readonly compliance: Compliance
  readonly question: LegalTimeQuestion
  readonly callKind: CallKind
  /** Telemarketing when absent. The same object for each call of a purpose. */
  readonly purpose?: PurposeRules | undefined
  /** By the account's clock. */
  readonly askedAt: Instant
  /** Absent if the check of reassigned numbers is not asked. */
  readonly reassigned?: ReassignedSource | undefined
  readonly aiConsentEvidence: ConsentEvidence
  /** Absent if the settings name no exception of the law for the call. */
  readonly findExceptions?: FindExceptions | undefined
  readonly requiredConsents: GateRules['callingRules']['requiredConsents']
}

export interface CheckDeadline {
  readonly deadlineMs: number
  readonly timers: Timers
}

/** Fast answers first, since each question is asked before the next one. */
const questionOrder = ['litigator', 'internalDnc', 'legalTime', 'scrub'] as const

/**
 * The findings in the order of the checks; at once if all answers are known at once. Each question is
 * asked once, whatever the checks are.
 */
export function runChecks(
  checks: readonly Check[],
  {
    compliance,
    question,
    callKind,
    purpose = telemarketing,
    askedAt,
    reassigned,
    aiConsentEvidence,
    findExceptions,
    requiredConsents,
  }: CallToCheck,
  { deadlineMs, timers }: CheckDeadline,
): MaybePromise<readonly Finding[]> {
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
  // Every name holds the answer to its own question.
  const { accountId, number } = question
  const call = {
    accountId,
    number,
    callKind,
    purpose,
    askedAt,
    reassigned,
    aiConsentEvidence,
    requiredConsents,
    at: question.at ?? askedAt,
    answers: answers as CallAnswers,
    lifting: findExceptions && { findExceptions, compliance, question },
  }
  if (waiting.length === 0) return judgeAnswers(checks, call, { deadlineMs, timers })
  const startedMs = timers.monotonicMs()
  const answered = withTimeout(Promise.all(waiting), deadlineMs, () => undefined, { timers })
  return answered.then(() => {
    const params = { ms: Math.round(deadlineMs) }
    const says = [{ code: 'not-answered-within', params }] as const
    for (const name of questionOrder)
      answers[name] ??= { ok: false, reason: 'deadline', says, source: 'gate' }
    const leftMs = deadlineMs - (timers.monotonicMs() - startedMs)
    return judgeAnswers(checks, call, { deadlineMs: leftMs, timers })
  })
}

type CallToJudge = AnsweredCall &
  Pick<CallToCheck, 'reassigned' | 'requiredConsents'> &
  Pick<Question, 'accountId' | 'number'> & {
    /** The instant that is judged. */
    readonly at: Instant
    readonly lifting:
      | (Pick<CallToCheck, 'compliance' | 'question'> & { readonly findExceptions: FindExceptions })
      | undefined
  }

function judgeAnswers(
  checks: readonly Check[],
  call: CallToJudge,
  deadline: CheckDeadline,
): MaybePromise<readonly Finding[]> {
  const checked: Finding[] = []
  for (const check of checks) {
    const answer: Answer<JudgedValue> = call.answers[check.question]
    // If several sources answered, each answer is judged and each must permit the call.
    if (answer.ok && answer.otherAnswers) {
      const parts = flattenAnswers(answer).map((one) => toFinding(check, one, call))
      checked.push({ ...pickStrictestFinding(parts), parts })
    } else checked.push(toFinding(check, answer, call))
  }
  const laws = findRequiredConsents(checked, call)
  const findings = laws.length === 0 ? checked : checked.map((one) => judgeByLaws(one, call, laws))
  if (call.lifting && call.purpose.purpose === 'telemarketing') {
    return judgeWithExceptions(findings, { ...call, ...call.lifting }, deadline)
  }
  const { reassigned, answers, accountId, number, callKind, purpose, askedAt } = call
  const { scrub } = answers
  // Nothing rests on a record, as with almost every call of a person.
  if (!reassigned || (scrub.ok && scrub.value.ebrType === '' && !scrub.otherAnswers))
    return findings
  const asked = { reassigned, accountId, number, callKind, purpose, askedAt, answers }
  return addReassigned(findings, asked, deadline)
}

function findRequiredConsents(
  findings: readonly Finding[],
  { requiredConsents, callKind, purpose: { purpose }, number, at }: CallToJudge,
): readonly RequiredConsent[] {
  const places = findPlaces(findings)
  return requiredConsents.find({ callKind, purpose, number, places }, at)
}

/** The finding of the permission check for each source, with the state consent laws applied. */
function judgeByLaws(
  finding: Finding,
  call: CallToJudge,
  laws: readonly RequiredConsent[],
): Finding {
  if (finding.check !== 'permission') return finding
  const answers = flattenAnswers(call.answers.scrub)
  const judge = (one: Finding, answer: Answer<ScrubVerdict> | undefined) =>
    answer?.ok ? requireConsent(one, answer.value, call, laws) : one
  if (finding.parts === undefined) return judge(finding, answers[0])
  const parts = finding.parts.map((part, index) => judge(part, answers[index]))
  return { ...pickStrictestFinding(parts), parts }
}

function judgeWithExceptions(
  findings: readonly Finding[],
  call: CallToJudge & NonNullable<CallToJudge['lifting']>,
  deadline: CheckDeadline,
): MaybePromise<readonly Finding[]> {
  const { findExceptions, compliance, question, answers, reassigned } = call
  const lifted = liftHours({
    findings,
    findExceptions,
    scrub: answers.scrub,
    ask: (exceptions) => {
      const answer = compliance.legalTime({ ...question, exceptions })
      return answer instanceof Promise
        ? withTimeout(answer, deadline.deadlineMs, () => notInTime, deadline)
        : answer
    },
    judgeHours: (answer) => judgeSuccess(callingHoursCheck, answer, call),
    judgePermission: (answer) => {
      const finding = judgeSuccess(permissionCheck, answer, call)
      return requireConsent(finding, answer.value, call, findRequiredConsents(findings, call))
    },
  })
  if (!reassigned) return lifted
  return mapMaybePromise(lifted, (found) => addReassigned(found, { ...call, reassigned }, deadline))
}

const notInTime: AnswerFailure = {
  ok: false,
  reason: 'deadline',
  says: [{ code: 'deadline' }],
  source: 'gate',
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
  const says = [{ code: 'source-failed', quote: String(cause) }] as const
  return { ok: false, reason: 'source-failed', says, source: 'gate' }
}

type JudgedValue = Parameters<Check['judge']>[0]['value']

/** Judges the answer of one source. A cached answer is judged once for the calls of a kind. */
function toFinding(check: Check, answer: Answer<JudgedValue>, call: AnsweredCall): Finding {
  if (!answer.ok) return createUnknownFinding(check.name, call.askedAt, answer)
  const { judged } = answer
  const { callKind, purpose, aiConsentEvidence } = call
  if (
    judged?.of === answer &&
    judged.callKind === callKind &&
    judged.purpose === purpose &&
    judged.aiConsentEvidence === aiConsentEvidence &&
    judged.finding.check === check.name
  ) {
    return judged.finding
  }
  const finding = judgeSuccess(check, answer, call)
  if (check.readsOtherAnswers?.(answer) !== true && finding.verdict !== 'unknown') {
    answer.judged = { of: answer, callKind, purpose, aiConsentEvidence, finding }
  }
  return finding
}

function judgeSuccess(
  check: Check,
  answer: AnswerSuccess<JudgedValue>,
  call: AnsweredCall,
): Finding {
  const { source, asOf, holdsUntil, notRenewed } = answer
  try {
    const result = check.judge(answer, call)
    return {
      check: check.name,
      verdict: result.verdict,
      reason: result.reason,
      says: result.says,
      source,
      asOf: result.asOf ?? asOf,
      holdsUntil: result.holdsUntil ?? holdsUntil,
      opensAt: result.opensAt,
      notRenewed,
      lists: result.lists,
      facts: result.facts,
      places: result.places,
      hasPermission: result.hasPermission,
      relationship: result.relationship,
      text: undefined,
    }
  } catch (cause) {
    return createUnknownFinding(check.name, call.askedAt, createFailure(cause))
  }
}

const listFailureReasons: Readonly<Partial<Record<AnswerFailureReason, ReasonCode>>> = {
  'list-missing': 'list-missing',
  'list-unusable': 'list-unreadable',
  'list-stale': 'list-stale',
}

function createUnknownFinding(
  check: CheckName,
  askedAt: Instant,
  { reason, says, source }: AnswerFailure,
): Finding {
  return {
    check,
    verdict: 'unknown',
    reason: listFailureReasons[reason] ?? 'check-unanswered',
    says,
    source,
    asOf: askedAt,
    holdsUntil: Number.NEGATIVE_INFINITY,
    isRequestError: isRequestError(reason),
  }
}
