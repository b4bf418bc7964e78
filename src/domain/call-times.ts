/** The two calls beside IsTimeLegalToCall in our own names: lawful times of days, and time zones. */
import type { Instant } from './clock.js'
import type { LegalTimeStatus } from './compliance.js'

/** One item as received: a value of the wrong type is the row's status, never an error. */
export interface CallTimesItem {
  readonly phoneNumber: unknown
  /** First local day of the called party. */
  readonly date: unknown
  readonly projectId: unknown
  readonly numberOfDays: unknown
}

/** A stretch in which calls are lawful; the end is the first instant after it. */
export interface CallTimes {
  readonly from: Instant
  readonly until: Instant
}

export interface CallTimesRow {
  /** As received; text of the value where that is no text. */
  readonly phoneNumber: string
  /** In order of time; empty unless the status is `OK`. */
  readonly times: readonly CallTimes[]
  readonly status: LegalTimeStatus
  /** `null` exactly when the status is `OK`. */
  readonly message: string | null
}

/** When a zone next changes its clock, either way. */
export interface ClockChanges {
  /** The next change to a later clock: daylight saving begins. */
  readonly springsForwardAt: Instant | undefined
  readonly fallsBackAt: Instant | undefined
}

export interface TimeZoneRow {
  readonly phoneNumber: string
  /** IANA name; `null` when the number may lie in several zones. */
  readonly zone: string | null
  /** Two letters; `null` when the number may lie in several regions. */
  readonly region: string | null
  /** Daylight saving included; `null` when the candidate zones differ at that instant. */
  readonly offsetMinutes: number | null
  readonly hasDst: boolean | null
  readonly changes: ClockChanges | undefined
  readonly rateCentre: string | null
  readonly status: Exclude<LegalTimeStatus, 'INVALID_PROJECT' | 'INVALID_DATE'>
  /** Why something is `null`, or why the status is not `OK`; else `null`. */
  readonly message: string | null
}
