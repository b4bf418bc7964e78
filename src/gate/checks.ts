/**
 * The four checks of every call. Each judges the answer to one question; the questions are asked once,
 * within a deadline. One that fails, or is not answered in time, makes its check `unknown`, never a pass.
 */

import {
  type Answer,
  type AnswerSuccess,
  type Compliance,
  type ConsentEvidence,
  flattenAnswers,
  type InternalDncStatus,
  type LegalTime,
  type LegalTimeQuestion,
  type LitigatorStatus,
  type MaybePromise,
  mapMaybePromise,
  type Question,
  type ResultLetter,
  type ScrubVerdict,
} from '../domain/compliance.js'
import type { CallKind, CheckName, Finding, ReasonCode, Verdict } from '../domain/decision.js'
import type { ReassignedSource } from '../domain/lookups.js'
import type { PlaceSource } from '../domain/place.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { withTimeout } from '../runtime/runtime.js'
import { findConsentProblem } from './checks/consent-evidence.js'
import { findReassigned } from './checks/reassigned.js'
import { createFailure, createUnknownFinding, describeStale } from './checks/unknown-finding.js'
import { pickStrictestFinding } from './combine-findings.js'

/** What each question of the port is answered with. */
interface AnswerValues {
  readonly litigator: LitigatorStatus
  readonly internalDnc: InternalDncStatus
  readonly legalTime: LegalTime
  readonly scrub: ScrubVerdict
}

type CallAnswers = { readonly [Name in keyof AnswerValues]: Answer<AnswerValues[Name]> }

/** A call, and the answers to all questions about it. */
interface AnsweredCall {
  readonly callKind: CallKind
  /** By the account's clock. */
  readonly askedAt: Instant
  readonly answers: CallAnswers
  /** What must show the consent to an AI call. */
  readonly aiConsentEvidence: ConsentEvidence
}

export interface Check<Name extends keyof AnswerValues = keyof AnswerValues> {
  readonly name: CheckName
  /** Without an answer to this question, the finding is `unknown`. */
  readonly question: Name
  /** Judges the answer of one source. If several sources answered, each of them must permit the call. */
  judge(answer: AnswerSuccess<AnswerValues[Name]>, call: AnsweredCall): CheckResult
  /** Whether it reads other answers too; if not, a call of the same kind has the same result. */
  readsOtherAnswers?(answer: AnswerSuccess<AnswerValues[Name]>): boolean
}

interface CheckResult {
  readonly verdict: Verdict
  readonly reason: ReasonCode
  readonly detail: string
  readonly opensAt?: Instant | undefined
  readonly lists?: Finding['lists']
  readonly facts?: Finding['facts']
  /** Replaces the answer's own if the judgment also depends on another answer. */
  readonly asOf?: Instant
  readonly holdsUntil?: Instant
}

/** Known TCPA litigators are not called; consent does not override this. */
export const litigatorCheck: Check<'litigator'> = {
  name: 'litigator',
  question: 'litigator',
  judge({ value: { isLitigator, list } }) {
    const lists = list && [list]
    if (isLitigator) {
      const detail = 'linked to a known TCPA litigator'
      return { verdict: 'deny', reason: 'litigator', detail, lists }
    }
    return { verdict: 'pass', reason: 'permitted', detail: 'not on the litigator list', lists }
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
  judge(entry, { answers }) {
    const { onList, addedAt, facts } = entry.value
    if (!onList) {
      const detail = 'not on the internal do-not-call list'
      return { verdict: 'pass', reason: 'permitted', detail }
    }
    const listed = formatListed(addedAt)
    const row = findFreshRow(entry.source, answers.scrub)
    if (row?.value.ebrType !== 'P') {
      return { verdict: 'deny', reason: 'internal-dnc', detail: listed, facts }
    }
    const { letter, optOut, detail } = row.value
    if (letter === 'O' || letter === 'H') {
      return {
        verdict: 'pass',
        reason: 'permitted',
        detail: `${listed}; a newer permission record overrides it`,
        asOf: Math.min(entry.asOf, row.asOf),
        holdsUntil: Math.min(entry.holdsUntil, row.holdsUntil),
        facts,
      }
    }
    if (letter !== 'P') return { verdict: 'deny', reason: 'internal-dnc', detail: listed, facts }
    const why = optOut && detail !== undefined ? `; ${detail}` : ''
    if (optOut === 'not-lifted') {
      return { verdict: 'deny', reason: 'internal-dnc', detail: `${listed}${why}`, facts }
    }
    const revoked = why || ', which is newer than the permission record'
    return { verdict: 'deny', reason: 'consent-revoked', detail: `${listed}${revoked}`, facts }
  },
  readsOtherAnswers: ({ value }) => value.onList,
}

function formatListed(addedAt: Instant | undefined): string {
  const since = addedAt === undefined ? '' : ` since ${formatInstant(addedAt)}`
  return `on the internal do-not-call list${since}`
}

/**
 * The row of that source. A stale row shows no permission, since it may have been withdrawn
 * meanwhile; answers beside a stale answer were kept just as long.
 */
function findFreshRow(
  source: string,
  scrub: Answer<ScrubVerdict>,
): AnswerSuccess<ScrubVerdict> | undefined {
  if (!scrub.ok || scrub.staleReason !== undefined) return undefined
  for (const row of flattenAnswers(scrub)) {
    if (row.ok && row.source === source && row.staleReason === undefined) return row
  }
  return undefined
}

/** Calls are placed only within the lawful hours of every place the called party may be in. */
export const callingHoursCheck: Check<'legalTime'> = {
  name: 'calling-hours',
  question: 'legalTime',
  judge({ value: legalTime }) {
    const { status, message, rule, placeSource, permitted, restrictedDay, opensAt } = legalTime
    const { facts } = legalTime
    if (status !== 'OK') {
      return { verdict: 'deny', reason: statusReasons[status], detail: message ?? status }
    }
    // Shows a reader how reliable the place is.
    const detail = placeSource === undefined ? rule : `${rule} (${placeTexts[placeSource]})`
    if (permitted) return { verdict: 'pass', reason: 'permitted', detail, facts }
    return {
      verdict: 'deny',
      facts,
      reason: restrictedDay === undefined ? 'outside-calling-hours' : 'restricted-day',
      detail,
      opensAt: opensAt ?? Number.POSITIVE_INFINITY,
    }
  },
}

const placeTexts: Readonly<Record<PlaceSource, string>> = {
  'postal-code': 'place by postal code',
  prefix: 'place by prefix',
  'area-code': 'place by area code alone',
}

const statusReasons: Readonly<Record<Exclude<LegalTime['status'], 'OK'>, ReasonCode>> = {
  INVALID_PHONE: 'invalid-number',
  INVALID_PROJECT: 'unknown-project',
  INVALID_DATE: 'check-unanswered',
  TOLL_FREE: 'toll-free',
  UNKNOWN_NXX: 'unknown-prefix',
}

/**
 * Lists, consent and line type, as a scrub row of version 8 reports them. Only letters known to permit
 * the kind of call permit it, and only if the row's own flag does too.
 */
export const permissionCheck: Check<'scrub'> = {
  name: 'permission',
  question: 'scrub',
  judge({ value: row }, { callKind, aiConsentEvidence }) {
    const { letter, ebrType, lists, opensAt, facts } = row
    const detail = formatDetail(row)
    if (!permittingLetters[callKind].has(letter)) {
      return { verdict: 'deny', reason: getLetterReason(row), detail, lists, facts }
    }
    const isWireless = letter === 'G' || letter === 'H'
    const needsPermission = callKind === 'ai' || (callKind === 'autodialed' && isWireless)
    if (needsPermission && ebrType !== 'P') {
      return { verdict: 'deny', reason: 'no-consent', detail, lists, facts }
    }
    const rests = needsPermission || letter === 'O' || letter === 'H'
    const problem = rests && findConsentProblem(row, callKind, aiConsentEvidence)
    if (problem) {
      const { reason, text } = problem
      return { verdict: 'deny', reason, detail: `${detail}; ${text}`, lists, facts }
    }
    if (row.doNotCallToday) {
      return { verdict: 'deny', reason: 'restricted-day', detail, lists, opensAt, facts }
    }
    if (!row.allowed[callKind]) {
      const notNow = `${detail}; not at this hour`
      const reason = 'outside-calling-hours'
      return { verdict: 'deny', reason, detail: notNow, lists, opensAt, facts }
    }
    return { verdict: 'pass', reason: 'permitted', detail, lists, facts }
  },
}

/** Letters that may permit a kind of call; for `G` and `H` a machine also needs a permission record. */
const permittingLetters: Readonly<Record<CallKind, ReadonlySet<ResultLetter>>> = {
  manual: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'W', 'Y', 'G', 'H']),
  autodialed: new Set<ResultLetter>(['C', 'X', 'E', 'O', 'R', 'G', 'H']),
  ai: new Set<ResultLetter>(['E', 'O', 'G', 'H']),
}

const letterTexts: Readonly<Record<ResultLetter, string>> = {
  C: 'clean: on no list, no consent on file',
  X: 'list match overridden by an industry exemption',
  E: 'relationship or consent on file, on no list',
  O: 'relationship or consent overrides a list match',
  R: 'relationship has expired, on no list',
  W: 'wireless, on no list, no consent on file',
  Y: 'VoIP, on no list, no consent on file',
  G: 'wireless or VoIP with a relationship or consent, on no list',
  H: 'wireless or VoIP, relationship or consent overrides a list match',
  L: 'wireless in a state that bans sales calls to wireless numbers',
  F: 'wireless in a state that bans sales calls to wireless numbers, relationship on file',
  V: 'wireless in a state that bans sales calls to wireless numbers, relationship and list match',
  D: 'on a do-not-call or litigator list without consent',
  P: 'on the internal do-not-call list',
  B: 'not covered by an imported national list',
  I: 'area code or exchange not in service',
  M: 'not ten digits',
  S: 'disconnected',
  T: 'high-cost telephone company',
}

function formatDetail(row: ScrubVerdict): string {
  const { letter, reason, detail, isListStale, optOut } = row
  let text = letter === 'R' && optOut === 'ended' ? 'on no list' : letterTexts[letter]
  if (isListStale) text = 'the list that covers it is too old'
  const because = /^;*$/.test(reason) ? '' : `, reason '${reason}'`
  const more = detail === undefined ? '' : `; ${detail}`
  return `result ${letter}: ${text}${because}${more}`
}

function getLetterReason(row: ScrubVerdict): ReasonCode {
  const { letter, reason, ebrType, isListStale, optOut } = row
  switch (letter) {
    case 'D':
      return getListReason(reason)
    case 'P':
      return ebrType === 'P' && optOut !== 'not-lifted' ? 'consent-revoked' : 'internal-dnc'
    case 'B':
      return isListStale ? 'list-stale' : 'list-not-covering'
    case 'I':
      return 'unknown-prefix'
    case 'M':
      return 'invalid-number'
    case 'L':
    case 'F':
    case 'V':
      return 'wireless-state'
    case 'S':
    case 'T':
      return 'not-permitted'
    default:
      return ebrType === 'P' && optOut === 'ended' ? 'consent-revoked' : 'no-consent'
  }
}

/** The parts of `Reason` tell which list matched (national, then state; or the litigator list). */
function getListReason(reason: string): ReasonCode {
  if (reason === 'Litigator') return 'litigator'
  if (reason.startsWith('National')) return 'national-dnc'
  return reason.split(';')[1]?.startsWith('State') === true ? 'state-dnc' : 'national-dnc'
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
  /** By the account's clock. */
  readonly askedAt: Instant
  /** Absent if the check of reassigned numbers is not asked. */
  readonly reassigned?: ReassignedSource | undefined
  readonly aiConsentEvidence: ConsentEvidence
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
  { compliance, question, callKind, askedAt, reassigned, aiConsentEvidence }: CallToCheck,
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
  const { number } = question
  const call = {
    number,
    callKind,
    askedAt,
    reassigned,
    aiConsentEvidence,
    answers: answers as CallAnswers,
  }
  if (waiting.length === 0) return judgeAnswers(checks, call, { deadlineMs, timers })
  const startedMs = timers.monotonicMs()
  const answered = withTimeout(Promise.all(waiting), deadlineMs, () => undefined, { timers })
  return answered.then(() => {
    const detail = `not answered within ${Math.round(deadlineMs)} ms`
    for (const name of questionOrder)
      answers[name] ??= { ok: false, reason: 'deadline', detail, source: 'gate' }
    const leftMs = deadlineMs - (timers.monotonicMs() - startedMs)
    return judgeAnswers(checks, call, { deadlineMs: leftMs, timers })
  })
}

type CallToJudge = AnsweredCall & Pick<CallToCheck, 'reassigned'> & Pick<Question, 'number'>

function judgeAnswers(
  checks: readonly Check[],
  call: CallToJudge,
  deadline: CheckDeadline,
): MaybePromise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const check of checks) {
    const answer: Answer<JudgedValue> = call.answers[check.question]
    // If several sources answered, each answer is judged and each must permit the call.
    if (answer.ok && answer.otherAnswers) {
      const parts = flattenAnswers(answer).map((one) => toFinding(check, one, call))
      findings.push({ ...pickStrictestFinding(parts), parts })
    } else findings.push(toFinding(check, answer, call))
  }
  const { reassigned, answers, number, callKind, askedAt } = call
  const { scrub } = answers
  // Nothing rests on a record, as with almost every call of a person.
  if (!reassigned || (scrub.ok && scrub.value.ebrType === '' && !scrub.otherAnswers))
    return findings
  const finding = findReassigned({ reassigned, number, callKind, askedAt, scrub }, deadline)
  return mapMaybePromise(finding, (one) => (one ? [...findings, one] : findings))
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

type JudgedValue = Parameters<Check['judge']>[0]['value']

/** Judges the answer of one source. A cached answer is judged once for the calls of a kind. */
function toFinding(check: Check, answer: Answer<JudgedValue>, call: AnsweredCall): Finding {
  if (!answer.ok) return createUnknownFinding(check.name, call.askedAt, answer)
  const { judged } = answer
  const { callKind } = call
  if (
    judged?.of === answer &&
    judged.callKind === callKind &&
    judged.finding.check === check.name
  ) {
    return judged.finding
  }
  const finding = judgeSuccess(check, answer, call)
  const isOfCall = answer.staleReason !== undefined || check.readsOtherAnswers?.(answer) === true
  if (!isOfCall && finding.verdict !== 'unknown') answer.judged = { of: answer, callKind, finding }
  return finding
}

function judgeSuccess(
  check: Check,
  answer: AnswerSuccess<JudgedValue>,
  call: AnsweredCall,
): Finding {
  const { source, asOf, holdsUntil, staleReason } = answer
  try {
    const result = check.judge(answer, call)
    return {
      check: check.name,
      verdict: result.verdict,
      reason: result.reason,
      detail:
        staleReason === undefined
          ? result.detail
          : describeStale(result.detail, answer, call.askedAt),
      source,
      asOf: result.asOf ?? asOf,
      holdsUntil: result.holdsUntil ?? holdsUntil,
      opensAt: result.opensAt,
      staleReason,
      lists: result.lists,
      facts: result.facts,
      text: undefined,
    }
  } catch (cause) {
    return createUnknownFinding(check.name, call.askedAt, createFailure(cause))
  }
}
