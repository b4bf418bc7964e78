/**
 * What rules judge, and what a rule is: a function of the call, of what is known and of the law and settings. It reads no clock, asks nothing
 * and remembers nothing.
 */
import type { ConsentEvidence } from '../domain/compliance.js'
import type {
  CallKind,
  CallPurpose,
  CallRequest,
  Finding,
  FindingName,
  Policy,
  PurposeRules,
} from '../domain/decision.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { Instant } from '../domain/time/clock.js'
import type { Derived } from './derive.js'
import type { Facts, Sources, StoredFacts, Times } from './facts.js'
import type { Law } from './law.js'
import type { RowRules } from './row.js'
import type { LimitsOfCall } from './rules/attempts.js'
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

/** The call, the law and the settings. */
export interface JudgedCall {
  readonly law: Law
  readonly windows: RowRules['windows']
  readonly settings: JudgeSettings
  readonly call: CallRequest
  /** The number that is called; empty if it is none of the North American plan. */
  readonly number: PhoneNumber | ''
  /** Absent if nobody said what the call is for. */
  readonly stated: CallPurpose | undefined
  readonly purpose: PurposeRules
  readonly times: Times
  /** The instant that is judged. */
  readonly at: Instant
}

export interface Judged extends JudgedCall {
  readonly number: PhoneNumber
  readonly sources: Sources
  readonly stored: StoredFacts
  readonly reassigned: Facts['reassigned']
  readonly ledger: Facts['ledger']
  /** What counts the call; known once all else is judged. */
  readonly limits?: LimitsOfCall | undefined
  /** That of the settings, with what is in shadow for the call. */
  readonly policy: Policy
  readonly derived: Derived
}

export interface Rule {
  readonly id: string
  /** The published name of its finding; that of a later rule with the same name replaces it. */
  readonly check: FindingName
  /** `undefined` if the rule has nothing to judge in this call. */
  judge(about: Judged): Finding | undefined
}
