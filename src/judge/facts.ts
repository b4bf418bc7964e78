/** What a call is judged by, as plain JSON: what is stored and imported here about its number, what providers answered, what is counted. */

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

/** Of the number of one call. What is `not-asked` says nothing, and no rule permits a call by it. */
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
  /** By the machine's clock, by which what is stored ages. */
  readonly now: Instant
  /** By the account's; that of the sandbox may be fixed. */
  readonly accountNow: Instant
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

/** What a call rests on that may no longer be that of the person called. */
export interface RestsOn {
  /** The day of the record; absent if it is not known. */
  readonly since?: LocalDay | undefined
  readonly basis: 'consent' | 'last-contact'
}

/** What the sources say of the number, and of what they were asked. */
export type AskedReassigned = ReassignedStatus & RestsOn

/** What was counted, or why it is not known. */
export type Ledger = CountedAttempt | { readonly failure: string }

/** Each later part is asked only if a ruling without it needs it. */
export interface Facts extends Partial<Sources> {
  readonly times: Times
  /** Absent if there is nothing. */
  readonly stored?: StoredFacts | undefined
  readonly reassigned?: AskedReassigned | undefined
  /** `not-asked` for calls that are no attempts. */
  readonly ledger?: Ledger | 'not-asked' | undefined
}
