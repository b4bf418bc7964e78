/**
 * Facts about a line from external sources: its carrier, connection status, residential or business
 * use, and reassignment (spec, "Number identification result" and following), and the requests and
 * rows of the reassigned-number checks (spec, "Reassigned-number check").
 */

import type { MaybePromise } from './compliance.js'
import type { PhoneNumber } from './phone-number.js'
import type { Instant, LocalDay } from './time/clock.js'
import type { Said } from './words/words.js'

/** `N` not available, `L` landline, `V` VoIP, `W` wireless, `O` other. */
export const phoneTypes = ['N', 'L', 'V', 'W', 'O'] as const
export type PhoneType = (typeof phoneTypes)[number]

export interface LineIdentity {
  readonly phoneType: PhoneType
  /** Operating company number, 4 characters, or empty. */
  readonly ocn: string
  readonly telcoName: string
  /** Day of the live lookup. */
  readonly on: LocalDay | undefined
}

/** Statuses of the spec's table ("Disconnect result"). */
export const lineStatuses = [
  'connected',
  'connected-75',
  'pending',
  'disconnected',
  'disconnected-70',
  'busy',
  'unreachable',
  'invalid phone',
  'restricted',
  'invalid-format',
  'invalid-phone',
  'bad-zip-code',
  'serverunavailable',
  'ERROR',
] as const
export type LineStatus = (typeof lineStatuses)[number]

export interface LineStatusAnswer {
  readonly status: LineStatus
  /** Filled when the status is an error. */
  readonly errorText: string
}

export type ResOrBusiness = 'R' | 'B' | 'U'

/** The result of one data source: `null` means too little information. */
export type ReassignedFlag = boolean | null

export interface ReassignedAnswer {
  /** The national database's answer. */
  readonly national: ReassignedFlag
  /** A federal safe harbor may be available. */
  readonly hasSafeHarbor: boolean
  /** The service's own carrier data. */
  readonly own: ReassignedFlag
}

/** Answers lookups; `undefined` means no fact. Each method rejects when the source is unavailable. */
export interface LookupSource {
  identity(number: PhoneNumber): Promise<LineIdentity | undefined>
  lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined>
  resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined>
  /** In request order, `undefined` for numbers without facts. */
  reassigned(
    items: readonly { readonly number: PhoneNumber; readonly consentOn: LocalDay }[],
  ): Promise<readonly (ReassignedAnswer | undefined)[]>
}

export interface ReassignedItem {
  readonly number: PhoneNumber
  /** The day consent was given. */
  readonly consentOn: LocalDay
}

export interface ReassignedRequest {
  /** Exactly one with GET. */
  readonly items: readonly ReassignedItem[]
  /** Answer with test data instead of real lookups. */
  readonly useSandbox: boolean
  readonly projectId: string | undefined
}

/** The result of the national database only. */
export interface NationalReassignedRow {
  readonly phoneNumber: PhoneNumber
  readonly isReassigned: ReassignedFlag
  readonly hasSafeHarbor: boolean
  readonly isSandbox: boolean
}

/** `isReassigned` combines the national database and the service's own carrier data. */
export interface ReassignedRow extends NationalReassignedRow {
  readonly ownIsReassigned: ReassignedFlag
}

/** Of the national database. */
export interface Release {
  /** Absent if no rule is in force: then no answer is known to be of the newest data. */
  readonly on: LocalDay | undefined
  /** From when on the answers are those of another release. */
  readonly replacedAt: Instant
}

/** What one source says of a number since a day, with what proves that it was asked. */
export interface ReassignedReport extends ReassignedAnswer {
  /** The line was found out of service on that day or later. */
  readonly isDisconnected: boolean
  /** The day that was asked about, which may be before the one in question. */
  readonly since: LocalDay
  /** When it was asked; for a file, the start of its as-of day. */
  readonly askedAt: Instant
}

/** A source of reports; `undefined` means no data. Throws or rejects when it is unavailable. */
export interface ReassignedReporter {
  report(
    number: PhoneNumber,
    since: LocalDay,
    accountId: string,
  ): MaybePromise<ReassignedReport | undefined>
}

export interface ReassignedQuestion {
  /** Whose call it is; answers do not depend on it. */
  readonly accountId: string
  readonly number: PhoneNumber
  /** The day of the consent, or of the last contact with the person; `undefined` if it is not known. */
  readonly since: LocalDay | undefined
}

/** Who asked for the data: the operator by its own subscription, a provider in its place, or nobody, for test data. */
export type ReassignedAgent = 'own-subscription' | 'agent' | 'test-data'

/** Whether a number is still the line of the person who had it on a day. */
export interface ReassignedStatus {
  /**
   * - `yes`: permanently disconnected on that day or later;
   * - `disconnected`: not known as such, but the line is out of service;
   * - `no-data`: no source has data that are recent enough;
   * - `not-covered`: nor can the national database, which has no numbers of that country;
   * - `not-asked`: the day is not known;
   * - `unreachable`: no source could answer;
   * - `not-configured`: there is no source.
   */
  readonly result:
    | 'yes'
    | 'disconnected'
    | 'no'
    | 'no-data'
    | 'not-covered'
    | 'not-asked'
    | 'unreachable'
    | 'not-configured'
  /** Says more about a result that is not known. */
  readonly says?: Said | undefined
  /** The source, and what it said; absent without one. */
  readonly report?: ReassignedReport | undefined
  readonly source: string
  readonly agent?: ReassignedAgent | undefined
  /** When the source was asked, or all sources were; absent if none was. */
  readonly askedAt?: Instant | undefined
  /** The day of the release of the national database that was asked; absent without a report. */
  readonly releasedOn?: LocalDay | undefined
  /** The status must not be used at or after this instant; absent if it does not end. */
  readonly holdsUntil?: Instant | undefined
}

/** Asks all sources; at once if the status is known. Never rejects. */
export interface ReassignedSource {
  find(question: ReassignedQuestion): MaybePromise<ReassignedStatus>
}
