/**
 * Facts about a line from external sources: its carrier, connection status, residential or business
 * use, and reassignment (spec, "Number identification result" and following), and the requests and
 * rows of the reassigned-number checks (spec, "Reassigned-number check").
 */

import type { PhoneNumber } from './phone-number.js'
import type { LocalDay } from './time/clock.js'

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
