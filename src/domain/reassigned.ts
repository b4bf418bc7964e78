/** What is asked of the reassigned-number checks, and their rows (spec, "Reassigned-number check"). */
import type { LocalDay } from './clock.js'
import type { Reassigned } from './lookups.js'
import type { PhoneNumber } from './phone-number.js'

export interface ReassignedItem {
  readonly number: PhoneNumber
  /** The day consent was given. */
  readonly consentOn: LocalDay
}

export interface ReassignedRequest {
  /** One with GET. */
  readonly items: readonly ReassignedItem[]
  /** Test data is wanted: nothing real is asked. */
  readonly useSandbox: boolean
  readonly projectId: string | undefined
}

/** Of the national database alone. */
export interface NationalRow {
  readonly phoneNumber: PhoneNumber
  readonly isReassigned: Reassigned
  readonly hasSafeHarbor: boolean
  readonly isSandbox: boolean
}

/** `isReassigned` combines the national database and the service's own carrier data. */
export interface ReassignedRow extends NationalRow {
  readonly ownIsReassigned: Reassigned
}
