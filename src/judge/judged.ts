/**
 * What rules judge, and what a rule is: a function of the call, of what is known and of the law and settings. It reads no clock, asks nothing
 * and remembers nothing.
 */
import type { AbandonmentCount } from '../domain/call-outcome.js'
import type { CallPurpose, CallRequest, Finding, Policy } from '../domain/decision.js'
import type { BarredBy, OwnNumber, PauseInForce } from '../domain/mandate.js'
import type { CandidatePlace } from '../domain/place.js'
import type { Instant } from '../domain/time/clock.js'
import type { Law } from './law.js'
import type { NumberSettings } from './number-call.js'
import type { CallScope } from './scope.js'

/** An own limit on the calls to a number. */
export interface HouseLimit extends CallScope {
  readonly calls: number
  readonly seconds: number
}

/** The words that calls may give as their subject. */
interface SubjectSettings extends CallScope {
  readonly subjects: readonly string[]
}

export interface JudgeSettings extends NumberSettings {
  readonly policy: Policy
  /** Accounts and trunks for whose calls every check is in shadow mode. */
  readonly shadow: { readonly accounts: readonly string[]; readonly trunks: readonly string[] }
  readonly houseLimits: readonly HouseLimit[]
  readonly subjects: readonly SubjectSettings[]
  readonly neighborCallerId: 'off' | 'warn' | 'block'
  readonly neighborPrefix: 'area-code' | 'exchange'
}

/** What is stored about such calls of the account; what is absent is not there, and `unread` could not be read. */
export interface StoredFacts {
  readonly pauses?: readonly PauseInForce[] | 'unread' | undefined
  readonly callerIds?: OwnCallerIds | 'unread' | undefined
  /** Of the calls of its campaign. */
  readonly abandoned?: readonly AbandonmentCount[] | 'unread' | undefined
}

/** What the register of own numbers has of the number that a call shows. */
export interface OwnCallerIds {
  /** Whether the calls of its project may show registered numbers alone. */
  readonly mustBeOwn: boolean
  /** Of the project, what is registered of that number, and some that calls may show now: those of the called area code first. */
  readonly numbers: readonly OwnNumber[]
  /** By which nobody may show it; absent if there is none. */
  readonly barredBy?: BarredBy | undefined
}

export interface Judged {
  readonly law: Law
  readonly settings: JudgeSettings
  readonly call: CallRequest
  /** The number that is called; empty if it is none of the North American plan. */
  readonly number: string
  readonly purpose: CallPurpose
  /** Where the called person may be; all of them must permit. */
  readonly places: readonly CandidatePlace[]
  readonly stored: StoredFacts
  /** By the machine's clock, by which what is stored ages. */
  readonly now: Instant
}

export interface Rule<About = Judged> {
  /** `undefined` if the rule has nothing to judge in this call. */
  judge(about: About): Finding | undefined
}
