/**
 * Relationship and consent records (spec, "Existing business relationship and consent") as listed and
 * removed.
 */
import type { EbrType } from './compliance.js'
import type { Instant } from './time/clock.js'

export interface ConsentRecordsRequest {
  /** 10 digits each; the service refuses anything else. */
  readonly numbers: readonly string[]
  /** Project of the records; absent means the Master Project. */
  readonly projectId?: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
}

/** A current record, expired or not, as reported. Days are `YYYY-MM-DD`. */
export interface ConsentRecord {
  readonly phoneNumber: string
  readonly type: EbrType
  /** A day, or a UTC instant if a time was given. */
  readonly dateOfLastContact: string
  readonly dateObligationEnds: string | null
  readonly referenceNum: string | null
  readonly brand: string | null
  readonly email: string | null
  /** UTC instant of the report. */
  readonly recordedOn: string
  /** Id of the key that stored it, or `import:<source>`; null for records from before this was stored. */
  readonly recordedBy: string | null
}

export const optOutChannels = [
  'call-voice',
  'call-key',
  'text',
  'web',
  'voicemail',
  'email',
  'agent',
  'import',
] as const
export type OptOutChannel = (typeof optOutChannels)[number]

/** `everything`: every project of the account. `project`: one that calls for a legal entity of its own. */
export const optOutScopes = ['everything', 'project'] as const
export type OptOutScope = (typeof optOutScopes)[number]

/** In place of a project code, which has no such character. */
export const allListsOfAccount = '*'

/** How an opt-out was heard, kept beside the entry of the list as evidence. */
export interface OptOutStatement {
  /** Of the call in which it was heard. The same words about it are the same opt-out, however often they are sent. */
  readonly decisionId?: string | undefined
  /** The sender's id of what it was heard in, for a call without a decision. */
  readonly reference?: string | undefined
  /** The words of the person. */
  readonly said?: string | undefined
  /** Where they were heard, such as `transcript`. */
  readonly source: string
  readonly channel: OptOutChannel
  readonly scope: OptOutScope
  /** Absent if it is now. */
  readonly receivedAt?: Instant | undefined
  /** False if a person should read the words. */
  readonly isUnderstood: boolean
}

/** An opt-out of one number, as it is reported. */
export interface OptOutReport extends Omit<OptOutStatement, 'isUnderstood'> {
  /** 10 digits. */
  readonly number: string
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

/** An opt-out that is in force. */
export interface RecordedOptOut {
  readonly scope: OptOutScope
  readonly receivedAt: Instant
  readonly effectiveAt: Instant
  readonly isUnderstood: boolean
  /** It was sent before, and this time nothing has changed. */
  readonly isRepeated: boolean
}

/** What the law says of an opt-out. */
export interface OptOutTerms {
  /** The last day on which the law would have it honored, which callgate does at once; null if no rule is known. */
  readonly lastDay: string | null
  /** Until when one text without marketing may confirm it; null if none may be sent any more. */
  readonly confirmBefore: Instant | null
  readonly rules: readonly { readonly id: string; readonly citation: string }[]
}
