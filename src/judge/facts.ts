/** The facts of a call, as plain JSON: our own data about its number, the providers' answers, and counts. */

import type { AbandonmentCount } from '../domain/call-outcome.js'
import type {
  Answer,
  AnswerFailure,
  CallRow,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
} from '../domain/compliance.js'
import type { ReassignedStatus } from '../domain/lookups.js'
import type { BarredBy, CountedAttempt, OwnNumber, PauseInForce } from '../domain/mandate.js'
import type { ListEvidence, ListFinding, StateFinding } from '../domain/number-set.js'
import type { NumberOfPlan, Place } from '../domain/place.js'
import type { Instant, LocalDay } from '../domain/time/clock.js'
import type { ProjectHours } from '../domain/time/week-windows.js'
import type { EbrRecord } from '../law/records/ebr-record.js'
import type { InternalDncEntry } from '../law/records/opt-out.js'

/** The `source` of findings by what is stored and imported here. */
export const ownSource = 'embedded'

export type Fact<Value> =
  | { readonly value: Value; readonly why?: undefined }
  /** `last`: what was known before; it may still forbid a call, but permits none. */
  | {
      readonly why: AnswerFailure
      readonly value?: undefined
      readonly last?: { readonly value: Value; readonly asOf: Instant } | undefined
    }

/** What the scope of a call says of its permission. */
interface ScopeTerms {
  readonly industryExemption: boolean
  readonly voipRestricted: boolean
}

/** What the lists say about a number in service. */
export interface ListFindings {
  readonly national: ListFinding
  readonly state: StateFinding
  readonly litigator: ListFinding
}

/** What decides, with the number and its places, whether lists, consent and line type permit a call. */
export interface PermissionFacts extends ScopeTerms {
  /** Absent if the number is not in service. */
  readonly lists: ListFindings | undefined
  /** On the internal list, also one that was removed from it. */
  readonly entry: InternalDncEntry | undefined
  /** The relationship or consent on file. */
  readonly record: EbrRecord | undefined
  /** The project's own. */
  readonly hours: readonly ProjectHours[]
}

/** Our own facts about one number. No rule permits a call because of a fact that was `not-asked`. */
export interface OwnFacts {
  /** When they were read, by the account's clock. */
  readonly asOf: Instant
  readonly number: NumberOfPlan
  /** The lists of ported numbers, by which the class of the line is known. */
  readonly ported: ListEvidence
  /** As sent; absent if none was. */
  readonly postalCode?: string | undefined
  /** Of the postal code; `undefined` if its place is not known. */
  readonly postal?: Place | undefined
  /** By the lists of the account, whether or not its project exists. */
  readonly litigator: Fact<ListFinding> | 'not-asked'
  /** On the internal list of the project, also one that was removed from it. */
  readonly entry: Fact<InternalDncEntry | undefined> | 'not-asked'
  /** The project's own; none where a provider has the project. */
  readonly hours: Fact<readonly ProjectHours[]> | 'not-asked'
  /** `not-asked` where a provider answers for lists and consent: no record of ours permits a call then. */
  readonly permission: Fact<PermissionFacts> | 'not-asked'
}

/** A question that our own facts answer with a denial is not asked. */
export interface ProviderAnswers {
  readonly litigator: Answer<LitigatorStatus> | undefined
  readonly internalDnc: Answer<InternalDncStatus> | undefined
  readonly legalTime: Answer<LegalTime> | undefined
  readonly scrub: Answer<CallRow>
}

/** The sources of one call. With a provider, each of both must permit it. */
export interface Sources {
  readonly own: OwnFacts
  readonly provider?: ProviderAnswers | undefined
}

/** One reading of two clocks. */
export interface Times {
  /** Machine clock, which measures the age of stored data. */
  readonly now: Instant
  /** Account clock; the sandbox can have a fixed one. */
  readonly accountNow: Instant
}

/** Stored data about the account that applies to the call. Absent: there is none. `unread`: it could not be read. */
export interface StoredFacts {
  readonly pauses?: readonly PauseInForce[] | 'unread' | undefined
  readonly callerIds?: OwnCallerIds | 'unread' | undefined
  /** Counts for the call's campaign. */
  readonly abandoned?: readonly AbandonmentCount[] | 'unread' | undefined
}

/** The part of the caller ID register that a call needs. */
export interface OwnCallerIds {
  /** Whether the project only permits registered caller IDs. */
  readonly mustBeOwn: boolean
  /** The registrations of the call's caller ID, and a few usable ones, those with the called area code first. */
  readonly numbers: readonly OwnNumber[]
  /** The list that bars everyone from using the caller ID; absent if there is none. */
  readonly barredBy?: BarredBy | undefined
}

/** The record that permits a call. If the number was reassigned since, it belongs to someone else. */
export interface RestsOn {
  /** The day of the record; absent if it is not known. */
  readonly since?: LocalDay | undefined
  readonly basis: 'consent' | 'last-contact'
}

/** The sources' answer, and what they were asked. */
export type AskedReassigned = ReassignedStatus & RestsOn

/** The counts, or why they are not known. */
export type Ledger = CountedAttempt | { readonly failure: string }

/** Later parts are only looked up if the ruling needs them. */
export interface Facts extends Partial<Sources> {
  readonly times: Times
  /** Absent if there is nothing. */
  readonly stored?: StoredFacts | undefined
  readonly reassigned?: AskedReassigned | undefined
  /** `not-asked` if the call is not an attempt. */
  readonly ledger?: Ledger | 'not-asked' | undefined
}
