/**
 * Facts about a line that come from outside: who carries it, whether it is connected, who lives
 * there, whether it has changed hands (spec, "Number identification result" and following).
 */
import type { LocalDay } from './clock.js'
import type { PhoneNumber } from './phone-number.js'

/** `N` not available, `L` landline, `V` VoIP, `W` wireless, `O` other. */
export const phoneTypes = ['N', 'L', 'V', 'W', 'O'] as const
export type PhoneType = (typeof phoneTypes)[number]

export interface LineIdentity {
  readonly phoneType: PhoneType
  /** Operating company number, 4 characters, or empty. */
  readonly ocn: string
  readonly telcoName: string
  /** Day of the live look-up. */
  readonly on: LocalDay | undefined
}

/** Statuses of the spec's table ("Disconnect result"). */
export const lineStatuses = [
  ...(['connected', 'connected-75', 'pending', 'disconnected', 'disconnected-70'] as const),
  ...(['busy', 'unreachable', 'invalid phone', 'restricted', 'invalid-format'] as const),
  ...(['invalid-phone', 'bad-zip-code', 'serverunavailable', 'ERROR'] as const),
] as const
export type LineStatus = (typeof lineStatuses)[number]

export interface LineStatusAnswer {
  readonly status: LineStatus
  /** Filled when the status is an error. */
  readonly errorText: string
}

export type ResOrBusiness = 'R' | 'B' | 'U'

/** What one body of data says: `null` is too little information. */
export type Reassigned = boolean | null

export interface ReassignedAnswer {
  /** The national database's answer. */
  readonly national: Reassigned
  /** A federal safe harbour may be available. */
  readonly hasSafeHarbor: boolean
  /** The service's own carrier data. */
  readonly own: Reassigned
}

/** Answers look-ups; `undefined` is no fact. Each rejects when it cannot be asked now. */
export interface LookupBook {
  identity(number: PhoneNumber): Promise<LineIdentity | undefined>
  lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined>
  resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined>
  /** In request order, `undefined` where nothing is known. */
  reassigned(
    asked: readonly { readonly number: PhoneNumber; readonly consentOn: LocalDay }[],
  ): Promise<readonly (ReassignedAnswer | undefined)[]>
}
