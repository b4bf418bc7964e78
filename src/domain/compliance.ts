/**
 * The port through which the gate asks questions about a call, and the shapes of the answers. A
 * provider over HTTP fills it, or several as one; it never throws: a missing answer is an
 * {@link AnswerFailure}, which is never treated as permission.
 */

import type { CallKind, CallPurpose } from './decision.js'
import type { ListVersion } from './number-set.js'
import type { PhoneNumber } from './phone-number.js'
import type { CandidatePlace, LineClass, PlaceSource } from './place.js'
import type { ClockReading, Instant, LocalDay } from './time/clock.js'
import type { TraceContext } from './trace/trace-context.js'
import type { Said } from './words/words.js'

export type MaybePromise<T> = T | Promise<T>

/** Continues synchronously when the value is not a promise, without a turn of the event loop. */
export function mapMaybePromise<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** The number, scope and time of a question. Absent project and campaign mean the account's defaults. */
export interface Question {
  readonly accountId: string
  readonly number: PhoneNumber
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  /** The instant the question is about; absent means now. */
  readonly at?: Instant | undefined
  /** When it is asked, so that a call reads the clocks once for its four questions. */
  readonly asked?: ClockReading | undefined
  /**
   * The intended kind of call. Answers do not depend on it; the cache uses it to see whether a stale
   * answer forbids this kind of call or only another one.
   */
  readonly callKind?: CallKind | undefined
  /** The trace of the decision that asks. Answers do not depend on it. */
  readonly trace?: TraceContext | undefined
  /**
   * No call waits for the answer: it may be delayed in favor of other questions, and is kept only by a
   * cache that asks on its own.
   */
  readonly inBackground?: boolean | undefined
}

/** The names of the questions in settings, logs and metrics. */
export const questionNames = ['scrub', 'internal-dnc', 'litigator', 'legal-time'] as const
export type QuestionName = (typeof questionNames)[number]

/** What lifts the hours of a region. */
export interface HoursException {
  readonly id: string
  readonly region: string
}

/** Describes the primary source that was not used. */
export interface UnavailablePrimary<T> {
  /** Why it was not waited for. */
  readonly says: readonly Said[]
  /** Its own answer, if it may still arrive. */
  readonly lateAnswer?: Promise<Answer<T>> | undefined
}

export interface AnswerSuccess<T> {
  readonly ok: true
  readonly value: T
  /** The name of the provider. */
  readonly source: string
  /** When the answer was given, by the account's clock. */
  readonly asOf: Instant
  /** The answer must not be used at or after this instant; absent without a limit. */
  readonly holdsUntil?: Instant | undefined
  /**
   * Set on an answer beyond its maximum age that is used because its source does not answer: why it
   * does not.
   */
  readonly notRenewed?: readonly Said[] | undefined
  /** Set on the answer of a fallback source when the primary is slow or does not answer. */
  readonly unavailablePrimary?: UnavailablePrimary<T> | undefined
  /** Answers of other sources: the call is permitted only if all of them permit it. */
  readonly otherAnswers?: readonly Answer<T>[] | undefined
}

/** The answer and those of all others that were asked, without nesting. */
export function flattenAnswers<T>(answer: Answer<T>): readonly Answer<T>[] {
  if (!answer.ok || answer.otherAnswers === undefined) return [answer]
  return [answer, ...answer.otherAnswers.flatMap(flattenAnswers)]
}

/** Whether the value of any source that answered passes the test. */
export function hasAnswerWhere<T>(answer: Answer<T>, test: (value: T) => boolean): boolean {
  if (!answer.ok) return false
  return (
    test(answer.value) || (answer.otherAnswers?.some((more) => hasAnswerWhere(more, test)) ?? false)
  )
}

/** Why a question has no answer; also the outcome label of the metrics. */
export const answerFailureReasons = [
  'source-failed',
  'deadline',
  'list-missing',
  'list-stale',
  'not-understood',
  /** The list exists but cannot be used. */
  'list-unusable',
  /** The source does not accept the key. */
  'refused',
  /** The source refuses the question itself, for example for an unknown project. */
  'bad-question',
  /** A rate limit of the source was or would be exceeded. */
  'rate-limited',
  /** The account has used up its budget of the provider. */
  'budget-spent',
  /** No call waits for the answer, and what is left of the account's budget is for calls. */
  'budget-reserved',
  /** The circuit breaker of the source is open after repeated failures. */
  'circuit-open',
  /** The queue of questions for the source is full. */
  'overloaded',
  /** The source's API has no such question. */
  'not-askable',
] as const
export type AnswerFailureReason = (typeof answerFailureReasons)[number]

/** Whether the failure was caused by the question and not by the source. */
export function isRequestError(why: AnswerFailureReason): boolean {
  return why === 'bad-question' || why === 'not-askable'
}

export interface AnswerFailure {
  readonly ok: false
  readonly reason: AnswerFailureReason
  readonly says: readonly Said[]
  readonly source: string
}

export type Answer<T> = AnswerSuccess<T> | AnswerFailure

/** The known result letters of a scrub row; any other letter is refused (spec, "Scrub"). */
export const resultLetters = [
  'C',
  'X',
  'E',
  'O',
  'R',
  'W',
  'Y',
  'G',
  'H',
  'L',
  'F',
  'V',
  'D',
  'P',
  'B',
  'I',
  'M',
  'S',
  'T',
] as const
export type ResultLetter =
  | ('C' | 'X' | 'E' | 'O' | 'R' | 'W' | 'Y' | 'G' | 'H' | 'L')
  | ('F' | 'V' | 'D' | 'P' | 'B' | 'I' | 'M' | 'S' | 'T')

/** Sale, inquiry, permission (express written consent), newspaper trial. */
export const ebrTypes = ['S', 'I', 'P', 'T'] as const
export type EbrType = (typeof ebrTypes)[number]

/** What shows that a consent was given, from nothing but its record to the certificate of a witness service. */
export const consentEvidence = ['none', 'oral', 'recorded', 'written', 'certified'] as const
export type ConsentEvidence = (typeof consentEvidence)[number]

/** Stronger evidence has a higher rank. */
export function rankEvidence(evidence: ConsentEvidence): number {
  return consentEvidence.indexOf(evidence)
}

/** What a permission record says of its consent. */
export interface ConsentTerms {
  readonly evidence: ConsentEvidence
  /** Of the stored consent; absent with the evidence `none`. */
  readonly id?: string | undefined
  /** The kinds of call that it permits; absent for all. */
  readonly kinds?: readonly CallKind[] | undefined
  /** What the calls may be for; absent for all. */
  readonly purposes?: readonly CallPurpose[] | undefined
  /** The first day without it; absent if it does not end. */
  readonly endsOn?: LocalDay | undefined
}

/** The parts of a version 8 scrub row that matter for a call. */
export interface CallRow {
  readonly letter: ResultLetter
  /** The row's `Reason`, such as `National (USA) 2024-01-31;;;W` or `Litigator`. */
  readonly reason: string
  /** The list that `reason` names first. */
  readonly listedOn?: 'litigator' | 'national' | 'state' | undefined
  /** Absent when the source does not report it. */
  readonly lineClass?: LineClass | undefined
  readonly ebrType: EbrType | ''
  /** The day of the contact of a current record; absent when the source does not report it. */
  readonly contactOn?: LocalDay | undefined
  /** The last day on which the person confirmed the identity in a call, if one is known. */
  readonly confirmedOn?: LocalDay | undefined
  /** Of a permission record; absent when the source does not report it. */
  readonly consent?: ConsentTerms | undefined
  readonly doNotCallToday: boolean
  /** `IsCallAllowedNonATDS`, `IsCallAllowedATDS` and `IsCallAllowedAI`. */
  readonly allowed: {
    readonly manual: boolean
    readonly autodialed: boolean
    readonly ai: boolean
  }
  /** Explains the letter; empty but for our own row. */
  readonly says: readonly Said[]
  /**
   * Set for our own row when an opt-out makes the record on file ineffective; `says` has the
   * opt-out. `ended`: it ended the record. `not-lifted`: the record is newer but was stored with an
   * Agent's key.
   */
  readonly optOut?: 'ended' | 'not-lifted' | undefined
  /**
   * If only the time forbids the call: when it no longer does; infinity when that is not soon or the
   * letter will have changed by then. Absent when the source does not report it.
   */
  readonly opensAt?: Instant | undefined
  /** Why the letter is `B`, if not because no list covers the number: a list is too old, or its file cannot be read. */
  readonly listProblem?: 'stale' | 'unreadable' | undefined
  /** The imported lists that were checked; absent when the source does not report them. */
  readonly lists?: readonly ListVersion[] | undefined
}

export interface InternalDncStatus {
  readonly onList: boolean
  readonly addedAt: Instant | undefined
}

export interface LitigatorStatus {
  readonly isLitigator: boolean
  /** The imported list that was checked; absent when the source does not report it. */
  readonly list?: ListVersion | undefined
}

export type LegalTimeStatus =
  | 'OK'
  | 'INVALID_PHONE'
  | 'INVALID_PROJECT'
  | 'INVALID_DATE'
  | 'TOLL_FREE'
  | 'UNKNOWN_NXX'

export interface LegalTime {
  readonly status: LegalTimeStatus
  readonly permitted: boolean
  /** Seconds left in the window; 0 when not permitted. */
  readonly secondsLeft: number
  /** First instant, from the one in question, at which the call is permitted; absent when none is soon. */
  readonly opensAt: Instant | undefined
  /** The rule that applied: citation, window, place; or why none did. */
  readonly says: readonly Said[]
  /** Name of the restricted day or emergency that closes the local date. */
  readonly restrictedDay: string | undefined
  readonly placeSource: PlaceSource | undefined
  readonly message: string | null
  /** See {@link Finding.places}. */
  readonly places?: readonly CandidatePlace[] | undefined
}

export interface Compliance {
  scrub(question: Question): MaybePromise<Answer<CallRow>>
  internalDnc(question: Question): MaybePromise<Answer<InternalDncStatus>>
  litigator(question: Question): MaybePromise<Answer<LitigatorStatus>>
  legalTime(question: Question): MaybePromise<Answer<LegalTime>>
}

/**
 * A failure, of the answer itself or of another source's; preferably one that the question itself
 * caused.
 */
export function findUnanswered<T>(answer: Answer<T>): AnswerFailure | undefined {
  if (!answer.ok) return answer
  if (answer.otherAnswers === undefined) return undefined
  const failures = flattenAnswers(answer).flatMap((one) => (one.ok ? [] : [one]))
  return failures.find(({ reason }) => isRequestError(reason)) ?? failures[0]
}

/** The answer and those of other sources, marked as given because a source does not answer. */
export function markStale<T>(
  answer: AnswerSuccess<T>,
  notRenewed: readonly Said[],
): AnswerSuccess<T> {
  const { value, source, asOf, holdsUntil, otherAnswers } = answer
  const stale = { ok: true, value, source, asOf, holdsUntil, notRenewed } as const
  if (otherAnswers === undefined) return stale
  const marked = otherAnswers.map((more) => (more.ok ? markStale(more, notRenewed) : more))
  return { ...stale, otherAnswers: marked }
}

/** What the source says, with its name, unless that is in it already. */
const sayBySource = ({ says, source }: AnswerFailure): readonly Said[] =>
  says.map((one, index) => (index === 0 && one.source === undefined ? { ...one, source } : one))

/**
 * The failure when both sources failed. If one of them does not support the question, the reason of
 * the other is more informative.
 */
export function combineFailures(first: AnswerFailure, second: AnswerFailure): AnswerFailure {
  return {
    ok: false,
    reason: selectFailureReason(first.reason, second.reason),
    says: [...sayBySource(first), ...sayBySource(second)],
    source: `${first.source}+${second.source}`,
  }
}

/**
 * A question that one source rejects as invalid must not hide an outage of the other, and an outage must not hide that there is no right to ask
 * the other.
 */
function selectFailureReason(
  first: AnswerFailureReason,
  second: AnswerFailureReason,
): AnswerFailureReason {
  if (first === 'list-missing' || second === 'list-missing') return 'list-missing'
  if (second === 'bad-question') return second
  return first === 'not-askable' ? second : first
}
