/**
 * The items and rows of the calling-hours calls with internal names: IsTimeLegalToCall, lawful times
 * of days, and time zones.
 */

import type { LegalTimeStatus } from './compliance.js'
import type { Instant } from './time/clock.js'

/** One item as received; a value of the wrong type is reported in the row's status. */
export interface CallTimesItem {
  readonly phoneNumber: unknown
  /** First local day of the called party. */
  readonly date: unknown
  readonly projectId: unknown
  readonly numberOfDays: unknown
}

/** A period in which calls are lawful; `until` is exclusive. */
export interface CallingPeriod {
  readonly from: Instant
  readonly until: Instant
}

export interface CallTimesRow {
  /** As received, converted to text. */
  readonly phoneNumber: string
  /** In order of time; empty unless the status is `OK`. */
  readonly times: readonly CallingPeriod[]
  readonly status: LegalTimeStatus
  /** `null` exactly when the status is `OK`. */
  readonly message: string | null
}

/** When a zone next starts and ends daylight saving time. */
export interface DstChanges {
  /** When daylight saving time begins. */
  readonly springsForwardAt: Instant | undefined
  readonly fallsBackAt: Instant | undefined
}

export interface TimeZoneRow {
  readonly phoneNumber: string
  /** IANA name; `null` when the number may be in several zones. */
  readonly zone: string | null
  /** Two letters; `null` when the number may be in several regions. */
  readonly region: string | null
  /** Daylight saving included; `null` when the candidate zones differ at that instant. */
  readonly offsetMinutes: number | null
  readonly hasDst: boolean | null
  readonly changes: DstChanges | undefined
  readonly rateCenter: string | null
  readonly status: Exclude<LegalTimeStatus, 'INVALID_PROJECT' | 'INVALID_DATE'>
  /** Why a value is `null` or the status is not `OK`; otherwise `null`. */
  readonly message: string | null
}

/** One item as received; a value of the wrong type is reported in the row's status. */
export interface TimeLegalItem {
  readonly phoneNumber: unknown
  readonly proposedAt: unknown
  readonly projectId: unknown
}

/** Spec, "Time-legal result row". */
export interface TimeLegalRow {
  /** As received, converted to text. */
  readonly phoneNumber: string
  readonly permitted: boolean
  /** 0 when not permitted. */
  readonly secondsLeft: number
  readonly status: LegalTimeStatus
  /** `null` exactly when the status is `OK`. */
  readonly message: string | null
}
