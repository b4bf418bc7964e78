/**
 * The narrow port through which the gate asks about a call, and the shapes of the answers.
 * Whoever fills it (our own service in process, a vendor over HTTP) never throws at the asker:
 * an answer that could not be had is an {@link Unanswered}, and is never taken for permission.
 */
import type { Instant } from './clock.js'
import type { CallKind } from './decision.js'
import type { ListVersion } from './number-set.js'
import type { PhoneNumber } from './phone-number.js'
import type { PlaceSource } from './place.js'

export type Eventually<T> = T | Promise<T>

/** Goes on at once when the value is there, without a turn of the event loop. */
export function when<T, R>(value: Eventually<T>, then: (value: T) => Eventually<R>): Eventually<R> {
  return value instanceof Promise ? value.then(then) : then(value)
}

/** Whom and when a question is about. Absent project and campaign mean the account's defaults. */
export interface Question {
  readonly accountId: string
  readonly number: PhoneNumber
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  /** The instant to judge; absent means now. */
  readonly at?: Instant | undefined
  /**
   * The kind of call the asker has in mind. No answer depends on it; it tells whether an old answer
   * forbids this call or only another kind.
   */
  readonly callKind?: CallKind | undefined
  /** Nobody waits for the answer: it may be had later, and only where others do not suffer. */
  readonly inBackground?: boolean | undefined
}

/** The questions by the name they have in settings, logs and metrics. */
export const questionNames = ['scrub', 'internal-dnc', 'litigator', 'legal-time'] as const
export type QuestionName = (typeof questionNames)[number]

/** What the gate asks of calling hours beyond the plain API. */
export interface LegalTimeQuestion extends Question {
  /** A recorded, artificial or AI voice: the state's window for those applies as well. */
  readonly recordedVoice: boolean
  /** The law's own window must permit too, so that a project override can only narrow it. */
  readonly lawToo: boolean
  /**
   * A postal code adds to the places the number may be in instead of replacing them. One whose
   * place is unknown, such as that of the armed forces, leaves the question unanswered.
   */
  readonly strictestPlace: boolean
}

/** The source that was to answer. */
export interface InsteadOf<T> {
  /** Why it was not waited for. */
  readonly because: string
  /** Its own answer, where it may still come. */
  readonly late?: Promise<Asked<T>> | undefined
}

export interface Answered<T> {
  readonly answered: true
  readonly value: T
  /** Who answered: `embedded`, or the name of a remote provider. */
  readonly source: string
  /** When the answer was made, by the account's clock. */
  readonly asOf: Instant
  /** The answer must not be used at or after this instant; infinity when nothing bounds it. */
  readonly holdsUntil: Instant
  /**
   * Set on an answer that is older than the cache keeps it, and is given because its source does
   * not answer: why it does not.
   */
  readonly staleBecause?: string | undefined
  /** Set on the answer of one source that stands in for another, which is slow or silent. */
  readonly insteadOf?: InsteadOf<T> | undefined
  /** What others say to the same question: the call is permitted only if all of them permit it. */
  readonly also?: readonly Asked<T>[] | undefined
}

/** Why a question has no answer; also the outcome label of the metrics. */
export const unansweredReasons = [
  ...(['source-failed', 'deadline', 'list-missing', 'list-stale', 'not-understood'] as const),
  /** The list is there and cannot be used. */
  'list-unusable',
  /** The source does not accept the key. */
  'refused',
  /** The source refuses the question as it is put, such as for a project it does not know. */
  'bad-question',
  /** The source has said that it was asked too often, or would be. */
  'rate-limited',
  /** The source has failed so often that it is left alone for a while. */
  'circuit-open',
  /** More questions wait for the source than may. */
  'overloaded',
  /** The source's API has no such question. */
  'not-askable',
] as const
export type UnansweredReason = (typeof unansweredReasons)[number]

/** Whether the question is at fault and not the source: asked otherwise, it would be answered. */
export function isOfTheQuestion(why: UnansweredReason): boolean {
  return why === 'bad-question' || why === 'not-askable'
}

export interface Unanswered {
  readonly answered: false
  readonly why: UnansweredReason
  readonly detail: string
  readonly source: string
}

export type Asked<T> = Answered<T> | Unanswered

/** Letters of a scrub row that are known; any other letter is not understood (spec, "Scrub"). */
export const resultLetters = [
  ...['C', 'X', 'E', 'O', 'R', 'W', 'Y', 'G', 'H', 'L'],
  ...['F', 'V', 'D', 'P', 'B', 'I', 'M', 'S', 'T'],
] as const
export type ResultLetter =
  | ('C' | 'X' | 'E' | 'O' | 'R' | 'W' | 'Y' | 'G' | 'H' | 'L')
  | ('F' | 'V' | 'D' | 'P' | 'B' | 'I' | 'M' | 'S' | 'T')

/** Sale, inquiry, permission (express written consent), newspaper trial. */
export const ebrTypes = ['S', 'I', 'P', 'T'] as const
export type EbrType = (typeof ebrTypes)[number]

/** What a scrub row of version 8 says of a call. */
export interface ScrubVerdict {
  readonly letter: ResultLetter
  /** The row's `Reason`, such as `National (USA) 2024-01-31;;;W` or `Litigator`. */
  readonly reason: string
  readonly ebrType: EbrType | ''
  readonly doNotCallToday: boolean
  /** `IsCallAllowedNonATDS`, `IsCallAllowedATDS` and `IsCallAllowedAI`. */
  readonly allowed: {
    readonly manual: boolean
    readonly autodialed: boolean
    readonly ai: boolean
  }
  /** Said by our own service where a letter alone would leave the caller guessing. */
  readonly detail: string | undefined
  /**
   * Set by our own service where it is because of an opt-out that the record on file does not act;
   * `detail` has the opt-out. `ended`: it ended the record. `not-lifted`: the record is newer, but of
   * an Agent's key.
   */
  readonly optOut?: 'ended' | 'not-lifted' | undefined
  /**
   * When time alone forbids the call: from when it no longer does, infinity when no such instant is
   * near or the letter will be another by then. Absent where the source cannot tell.
   */
  readonly opensAt?: Instant | undefined
  /** The letter is `B` because a list is too old to answer, not because none covers the number. */
  readonly isListStale?: boolean | undefined
  /** The imported lists that were looked at; absent where the source cannot tell. */
  readonly lists?: readonly ListVersion[] | undefined
}

export interface InternalDncStatus {
  readonly onList: boolean
  readonly addedAt: Instant | undefined
}

export interface LitigatorStatus {
  readonly isLitigator: boolean
  /** The imported list that was looked at; absent where the source cannot tell. */
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
  /** First instant from the asked one on at which the call is permitted; absent when none is near. */
  readonly opensAt: Instant | undefined
  /** The rule that decided, for people: citation, window, place. */
  readonly rule: string
  /** Name of the restricted day or emergency that closes the local date. */
  readonly restrictedDay: string | undefined
  readonly placeSource: PlaceSource | undefined
  readonly message: string | null
}

export interface Compliance {
  scrub(question: Question): Eventually<Asked<ScrubVerdict>>
  internalDnc(question: Question): Eventually<Asked<InternalDncStatus>>
  litigator(question: Question): Eventually<Asked<LitigatorStatus>>
  legalTime(question: LegalTimeQuestion): Eventually<Asked<LegalTime>>
}
