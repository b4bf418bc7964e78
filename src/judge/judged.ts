/**
 * What rules judge, and what a rule is: a function of the call, of what is known and of the law and settings. It reads no clock, asks nothing
 * and remembers nothing.
 */
import type { CallRow, ConsentEvidence } from '../domain/compliance.js'
import type {
  CallKind,
  CallPurpose,
  CallRequest,
  Finding,
  FindingName,
  Policy,
  PurposeRules,
} from '../domain/decision.js'
import type { AppliedException, FrequencyLimit, LimitsOfAttempt } from '../domain/mandate.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { CandidatePlace } from '../domain/place.js'
import type { Instant } from '../domain/time/clock.js'
import type { Facts, PermissionFacts, Sources, StoredFacts, Times } from './facts.js'
import type { Law } from './law.js'
import type { RowRules } from './row.js'
import type { CallScope, ExceptionInUse } from './scope.js'

/** An own limit on the calls to a number. */
export interface HouseLimit extends CallScope {
  readonly calls: number
  readonly seconds: number
}

/** The words that calls may give as their subject. */
interface SubjectSettings extends CallScope {
  readonly subjects: readonly string[]
}

export interface JudgeSettings {
  readonly policy: Policy
  /** Accounts and trunks for whose calls every check is in shadow mode. */
  readonly shadow: { readonly accounts: readonly string[]; readonly trunks: readonly string[] }
  readonly aiConsentEvidence: ConsentEvidence
  readonly exceptions: readonly ExceptionInUse[]
  readonly recordedVoiceWindows: boolean
  readonly projectMayWiden: boolean
  readonly strictestPlace: Readonly<Record<CallKind, boolean>>
  readonly houseLimits: readonly HouseLimit[]
  readonly subjects: readonly SubjectSettings[]
  readonly neighborCallerId: 'off' | 'warn' | 'block'
  readonly neighborPrefix: 'area-code' | 'exchange'
}

/** A frequency limit that an exception lifts. */
export interface LiftedLimit {
  readonly limit: FrequencyLimit
  readonly by: AppliedException
}

/** What limits a call, and what would but for an exception; its attempt is counted in any case. */
export interface LimitsOfCall extends LimitsOfAttempt {
  readonly lifted: readonly LiftedLimit[]
}

export interface OwnRow {
  readonly row: CallRow
  readonly asOf: Instant
  readonly holdsUntil: Instant
}

/** What several rules need, and follows from the facts alone. */
export interface Derived {
  /** Our row of a scrub; `undefined` if its facts are not known, and where a provider answers. */
  readonly row: OwnRow | undefined
  /** Also by facts that were known before. */
  deriveRow(facts: PermissionFacts): OwnRow
  /** The finding on calling hours, but for exceptions that lift them. */
  readonly hours: Finding
  /** Where the called person may be; all of them must permit. None if the hours could not be judged. */
  readonly places: readonly CandidatePlace[]
  /** Whether lists, consent and line type permit the call; while exceptions lift the hours, at any time. */
  readonly permission: Finding
  /** The exceptions that lift the hours of a sales call. */
  readonly lifting: readonly AppliedException[]
}

export interface Judged {
  readonly law: Law
  readonly windows: RowRules['windows']
  readonly settings: JudgeSettings
  /** That of the settings, with what is in shadow for the call. */
  readonly policy: Policy
  readonly call: CallRequest
  readonly number: PhoneNumber
  /** Absent if nobody said what the call is for. */
  readonly stated: CallPurpose | undefined
  readonly purpose: PurposeRules
  readonly times: Times
  /** The instant that is judged. */
  readonly at: Instant
  readonly sources: Sources
  readonly stored: StoredFacts
  readonly reassigned: Facts['reassigned']
  readonly ledger: Facts['ledger']
  /** What counts the call; known once all else is judged. */
  readonly limits?: LimitsOfCall | undefined
  readonly derived: Derived
}

/** A call with its facts, from which the rest is derived. */
export type CallWithFacts = Omit<Judged, 'derived'>

export interface Rule {
  readonly id: string
  /** The published name of its finding. */
  readonly check: FindingName
  /** Its finding stands in the place of an earlier one of the same name. */
  readonly replaces?: true
  /** `undefined` if the rule has nothing to judge in this call. */
  judge(about: Judged): Finding | undefined
}
