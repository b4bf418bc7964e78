/**
 * What rules judge, and what a rule is: a function of the call, of what is known and of the law and settings. It reads no clock, asks nothing
 * and remembers nothing.
 */
import type { AbandonmentCounts, AbandonmentLimit } from '../domain/call-outcome.js'
import type { CallPurpose, CallRequest, Finding, Policy } from '../domain/decision.js'
import type { CallerIdRegister, CallToCount, FrequencyLimit, Pauses } from '../domain/mandate.js'
import type { CandidatePlace, Country } from '../domain/place.js'
import type { Instant } from '../domain/time/clock.js'
import type { ExceptionLaw } from './exceptions.js'
import type { NumberLaw, NumberSettings } from './number-call.js'
import type { CallScope } from './scope.js'

/** An own limit on the calls to a number. */
export interface HouseLimit extends CallScope {
  readonly calls: number
  readonly seconds: number
}

export interface FrequencyLaw {
  readonly frequency: {
    /** The laws on the number of calls that count one to this number, whose person may be in any of the places. */
    find(call: CallToCount, at: Instant): readonly FrequencyLimit[]
  }
  readonly exceptions: ExceptionLaw
}

/** The calling rules that rules apply. */
export interface Law extends NumberLaw, FrequencyLaw {
  /** By the area code; `undefined` for a number of neither country. */
  findCountry(number: string): Country | undefined
  readonly callerIds: {
    /** The citation of the law by which a call to this number, whose person may be in any of the places, may show the other only with presence there. */
    findPresenceLaw(
      shown: string,
      called: {
        readonly number: string
        readonly places: readonly { readonly region: string }[]
      },
      at: Instant,
    ): string | undefined
  }
  readonly abandonment: {
    /** The laws on abandoned calls that count one to this number, whose person may be in any of the places. */
    find(
      called: Pick<CallToCount, 'number' | 'purpose' | 'places'>,
      at: Instant,
    ): readonly AbandonmentLimit[]
  }
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

/** What is stored about the calls of an account. Each is `undefined` if it could not be read. */
export interface StoredFacts {
  readonly pauses: Pauses | undefined
  readonly own: CallerIdRegister | undefined
  readonly abandoned: AbandonmentCounts | undefined
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
