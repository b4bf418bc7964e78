/** Where a called party may be, and what is known of a number from the numbering plan. */
import type { Instant } from './clock.js'
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

/** Kind of line of the original holder; `unknown` counts as wireless wherever consent matters. */
export type LineClass = 'wireless' | 'wireline' | 'voip' | 'unknown'

/** Operating company the prefix was first assigned to, not the one a number was ported to. */
export interface OriginalCarrier {
  /** Operating company number, four characters. */
  readonly ocn: string
  readonly company: string
}

export type NumberFacts =
  | {
      readonly status: 'ok'
      readonly place: Place
      /** Rate centre or exchange area; empty when only the area code is known. */
      readonly locality: string
      readonly carrier: OriginalCarrier | undefined
      readonly lineClass: LineClass
    }
  | { readonly status: 'toll-free' }
  /** Not in the master list; `areaCodeInUse` tells an unassigned exchange from a dead area code. */
  | {
      readonly status: 'unknown-prefix'
      readonly detail: string
      readonly areaCodeInUse: boolean
    }

/** How a country's prefixes are known: from an imported master list or from area codes alone. */
export interface PlanCoverage {
  readonly mode: 'imported' | 'area-code' | 'strict'
  readonly prefixes: number
  readonly asOf: Instant | undefined
}

export interface NumberingPlan {
  lookup(number: PhoneNumber): NumberFacts
  coverage(): Readonly<Record<Country, PlanCoverage>>
}

/** Place of a US ZIP or Canadian postal code; `undefined` when it is well formed but unknown. */
export interface PostalCodes {
  locate(postalCode: string): Place | undefined
}
