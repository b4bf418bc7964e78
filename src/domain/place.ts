/** Where a called party may be, and what is known of a number from the numbering plan. */
import type { Instant, LocalDay } from './clock.js'
import type { PhoneNumber } from './phone-number.js'

export type Country = 'US' | 'CA'

/** One place a number may be in: two-letter state, territory or province, and IANA zone. */
export interface CandidatePlace {
  readonly region: string
  readonly zone: string
}

export type PlaceSource = 'postal-code' | 'prefix' | 'area-code'

/**
 * Every place the called party may be in, never empty. With more than one candidate a call is
 * lawful only when each of them permits it.
 */
export interface Place {
  readonly country: Country
  readonly candidates: readonly CandidatePlace[]
  readonly source: PlaceSource
}

/** Kind of line; `unknown` counts as wireless wherever consent matters. */
export type LineClass = 'wireless' | 'wireline' | 'voip' | 'unknown'

/** Operating company the prefix or block was first assigned to, not the one a number was ported to. */
export interface OriginalCarrier {
  /** Operating company number, four characters. */
  readonly ocn: string
  readonly company: string
}

/** That a number has left the kind of line it was assigned as. */
export interface Ported {
  readonly to: 'wireless' | 'wireline'
  /** `undefined` when the list of ported numbers gives no day. */
  readonly on: LocalDay | undefined
}

export type NumberFacts =
  | {
      readonly status: 'ok'
      readonly place: Place
      /** Rate centre or exchange area; empty when only the area code is known. */
      readonly locality: string
      readonly carrier: OriginalCarrier | undefined
      /** As the line is now, as far as it is known: the one that counts. */
      readonly lineClass: LineClass
      /** As {@link carrier} serves it, whatever became of the number since. */
      readonly originalClass: LineClass
      /** Absent when no list of ported numbers that is in force names the number. */
      readonly ported?: Ported
    }
  | { readonly status: 'toll-free' }
  /** Not in the master list; `areaCodeInUse` tells an unassigned exchange from a dead area code. */
  | {
      readonly status: 'unknown-prefix'
      readonly detail: string
      readonly areaCodeInUse: boolean
    }

/**
 * How a country's prefixes are known: from an imported master list or from area codes alone, or not
 * at all, because the rule is strict or the imported file is damaged.
 */
export interface PlanCoverage {
  readonly mode: 'imported' | 'area-code' | 'strict' | 'damaged'
  readonly prefixes: number
  readonly asOf: Instant | undefined
  /** Thousands blocks that are known by their own holder; absent when none are imported. */
  readonly blocks?: number
}

export interface NumberingPlan {
  lookup(number: PhoneNumber): NumberFacts
  coverage(): Readonly<Record<Country, PlanCoverage>>
}

/** Place of a US ZIP or Canadian postal code; `undefined` when it is well formed but unknown. */
export interface PostalCodes {
  locate(postalCode: string): Place | undefined
}
