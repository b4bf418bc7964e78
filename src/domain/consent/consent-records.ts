/**
 * Relationship and permission records (spec, "Existing business relationship and consent") as listed and removed; the
 * consents that they point to; opt-outs.
 */

import type { ScopeChoice } from '../caller.js'
import type { ConsentEvidence, EbrType } from '../compliance.js'
import type { CallKind, CallPurpose } from '../decision.js'
import type { CallToCount } from '../mandate.js'
import type { PhoneNumber } from '../phone-number.js'
import type { Instant, LocalDay } from '../time/clock.js'

/** A call in which the person called confirmed the identity. */
export interface ConfirmedCall extends ScopeChoice {
  readonly number: PhoneNumber
  readonly calledAt: Instant
}

export interface EbrRecordsRequest {
  /** 10 digits each; the service refuses anything else. */
  readonly numbers: readonly string[]
  /** Project of the records; absent means the Master Project. */
  readonly projectId?: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
}

export interface EndedEbrRecords extends EbrRecordsRequest {
  /** Why they are ended, for the audit table. */
  readonly reason?: string | undefined
}

/** A current record, expired or not, as reported. Days are `YYYY-MM-DD`. */
export interface ListedEbrRecord {
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
  /** Id of the key that stored it, or `import:<source>`. */
  readonly recordedBy: string
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
  /** The good or service that the call was about (16 CFR 310.5(a)). */
  readonly goods?: string | undefined
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

/** A recorded opt-out, and what the law says about it. */
export interface OptOutTerms {
  /** The last day on which the law would have it honored, which callgate does at once; null if no rule is known. */
  readonly lastDay: string | null
  /** Until when one text without marketing may confirm it; null if none may be sent any more. */
  readonly confirmBefore: Instant | null
  readonly rules: readonly { readonly id: string; readonly citation: string }[]
  /** False if the named project is unknown, so that the opt-out was recorded without it. */
  readonly isProjectKnown: boolean
}

export const consentChannels = ['web', 'phone', 'text', 'email', 'paper', 'in-person'] as const
export const consentMethods = ['oral', 'recorded', 'written'] as const

/** A consent as it was given, with what shows it. */
export interface NewConsent {
  readonly number: PhoneNumber
  readonly givenAt: Instant
  /** Whom it permits to call. */
  readonly seller: string
  readonly channel: (typeof consentChannels)[number]
  readonly method: (typeof consentMethods)[number]
  /** As it was shown or read to the person. */
  readonly wording: string
  readonly page?: string | undefined
  /** Address of the certificate of a witness service. */
  readonly certificate?: string | undefined
  readonly personId?: string | undefined
  /** What the calls may be for; all if absent. */
  readonly purposes?: readonly CallPurpose[] | undefined
  /** All kinds of call if absent. */
  readonly kinds?: readonly CallKind[] | undefined
  /** The first day without it. */
  readonly endsOn?: LocalDay | undefined
}

/** Absent project and campaign mean the Master Project. */
export interface ConsentScope {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

export interface AddedConsent {
  readonly id: string
  /** In hex. */
  readonly wordingSha256: string
  /** Why the record has no effect. */
  readonly warnings: readonly string[]
}

/** One that was stored. Instants are ISO 8601 in UTC, days `YYYY-MM-DD`. */
export interface StoredConsent {
  readonly id: string
  readonly givenAt: string
  readonly endsOn: string | null
  readonly seller: string
  readonly channel: NewConsent['channel']
  readonly method: NewConsent['method']
  readonly evidence: ConsentEvidence
  readonly wording: string
  readonly wordingSha256: string
  readonly page: string | null
  readonly certificate: string | null
  readonly personId: string | null
  readonly purposes: readonly CallPurpose[] | null
  readonly kinds: readonly CallKind[] | null
  readonly recordedAt: string
  readonly recordedBy: string
}

/** A relationship or permission record, also one that has ended. */
export interface PastRecord {
  readonly type: EbrType
  readonly dateOfLastContact: string
  readonly consentId: string | null
  /** Of a permission. */
  readonly evidence: ConsentEvidence | null
  readonly recordedAt: string
  readonly recordedBy: string
  /** When another replaced it, or it was removed. */
  readonly replacedAt: string | null
}

/** All that is known of whether a number may be called, newest first. */
export interface ConsentHistory {
  readonly number: PhoneNumber
  /** `null` without a record in force. */
  readonly current: {
    readonly type: EbrType
    readonly consentId: string | null
    readonly evidence: ConsentEvidence | null
    /** Whether a call may rest on it now. */
    readonly isEffective: boolean
    /** The first day without it; `null` if it does not end. */
    readonly expiresOn: string | null
    /** Whether an opt-out has ended it. */
    readonly isRevoked: boolean
  } | null
  readonly consents: readonly StoredConsent[]
  readonly records: readonly PastRecord[]
  readonly optOut: { readonly addedAt: string; readonly removedAt: string | null } | null
  readonly statements: readonly {
    readonly heardAt: string
    readonly source: string
    readonly said: string | null
    readonly goods: string | null
    readonly decisionId: string | null
  }[]
}

/**
 * Records that may satisfy a state consent law: a permission record with proof of written consent, any permission record, a
 * sale, or an inquiry.
 */
export const liftingRecords = ['written-consent', 'permission', 'sale', 'inquiry'] as const
export type LiftingRecord = (typeof liftingRecords)[number]

/** A state law under which some calls to a region need a consent, or are banned if `liftedBy` is empty. */
export interface RequiredConsent {
  readonly id: string
  readonly region: string
  /** All lines if absent. */
  readonly lines?: readonly ('landline' | 'wireless')[] | undefined
  /** Any one of these records is enough. */
  readonly liftedBy: readonly LiftingRecord[]
  /** Other exemptions of the law, whose facts callgate does not know. */
  readonly exemptionsNotJudged: readonly string[]
  readonly citation: string
  /** Quotation from the law, or from a source about it. */
  readonly quote: string
}

/** The facts that decide which of these laws apply to a call. */
export type CallToConsent = Pick<CallToCount, 'callKind' | 'purpose' | 'number' | 'places'>
