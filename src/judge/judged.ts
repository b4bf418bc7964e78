/**
 * The input of a rule, and the rule itself: a pure function of the call, the facts, the law and the settings.
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

/** A frequency limit that an exception waives. */
export interface LiftedLimit {
  readonly limit: FrequencyLimit
  readonly by: AppliedException
}

/** The limits that apply to a call, and those that an exception waives. The attempt is counted either way. */
export interface LimitsOfCall extends LimitsOfAttempt {
  readonly lifted: readonly LiftedLimit[]
}

export interface OwnRow {
  readonly row: CallRow
  readonly asOf: Instant
  readonly holdsUntil: Instant
}

/** Values that several rules need, computed from the facts. */
export interface Derived {
  /** Our scrub row; `undefined` if its facts are not known or a provider answers. */
  readonly row: OwnRow | undefined
  /** Also accepts facts that were known earlier. */
  deriveRow(facts: PermissionFacts): OwnRow
  /** The finding on calling hours before exceptions. */
  readonly hours: Finding
  /** Where the called person may be; all of them must permit. None if the hours could not be judged. */
  readonly places: readonly CandidatePlace[]
  /** Whether lists, consent and line type permit the call. Ignores the time of day if an exception waives the hours. */
  readonly permission: Finding
  /** The exceptions that waive the hours of a sales call. */
  readonly lifting: readonly AppliedException[]
}

export interface Judged {
  readonly law: Law
  readonly windows: RowRules['windows']
  readonly settings: JudgeSettings
  /** The policy of the settings, with the checks that are in shadow mode for this call. */
  readonly policy: Policy
  readonly call: CallRequest
  readonly number: PhoneNumber
  /** The stated purpose; absent if none was stated. */
  readonly stated: CallPurpose | undefined
  readonly purpose: PurposeRules
  readonly times: Times
  /** The instant that is judged. */
  readonly at: Instant
  readonly sources: Sources
  readonly stored: StoredFacts
  readonly reassigned: Facts['reassigned']
  readonly ledger: Facts['ledger']
  /** The limits that count the call; set after all other rules. */
  readonly limits?: LimitsOfCall | undefined
  readonly derived: Derived
}

/** A call with its facts, without derived values. */
export type CallWithFacts = Omit<Judged, 'derived'>

export interface Rule {
  readonly id: string
  /** The published name of its finding. */
  readonly check: FindingName
  /** Its finding replaces an earlier one of the same name. */
  readonly replaces?: true
  /** `undefined` if the rule has nothing to judge in this call. */
  judge(about: Judged): Finding | undefined
}
