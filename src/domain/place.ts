/** The possible places of a called party, and the facts about a number from the numbering plan. */

import type { PhoneNumber } from './phone-number.js'
import type { Instant, LocalDay } from './time/clock.js'
import type { Said } from './words/words.js'

export const countries = ['US', 'CA'] as const
export type Country = (typeof countries)[number]

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

/** Kind of line; `unknown` is treated as wireless wherever consent matters. */
export type LineClass = 'wireless' | 'wireline' | 'voip' | 'unknown'

/** A company's kind of line. In the sources, `voip` also includes competitive carriers. */
export type KnownLineClass = Exclude<LineClass, 'unknown'>

export function isKnownLineClass(text: string): text is KnownLineClass {
  return text === 'wireless' || text === 'wireline' || text === 'voip'
}

/** The company the prefix or block was originally assigned to, regardless of porting. */
export interface OriginalCarrier {
  /** Operating company number, four characters. */
  readonly ocn: string
  readonly company: string
}

/** Records that a number was ported to another kind of line. */
export interface PortingRecord {
  readonly to: 'wireless' | 'wireline'
  /** `undefined` when the list of ported numbers gives no day. */
  readonly on: LocalDay | undefined
}

/** What the rules use of a number in service. */
export interface NumberInService {
  readonly status: 'ok'
  readonly place: Place
  /** The current class, as far as known. Decisions use this one. */
  readonly lineClass: LineClass
  /** The class of the original assignment, regardless of porting. */
  readonly originalClass: LineClass
}

type NumberNotInService =
  | { readonly status: 'toll-free' }
  /** Not in the master list; `areaCodeInUse` distinguishes an unassigned exchange from an unused area code. */
  | {
      readonly status: 'unknown-prefix'
      readonly says: readonly Said[]
      readonly areaCodeInUse: boolean
    }

/** What the rules use of a number. */
export type NumberOfPlan = NumberInService | NumberNotInService

export type NumberFacts =
  | (NumberInService & {
      /** Rate center or exchange area; empty when only the area code is known. */
      readonly locality: string
      /** The carrier of the original assignment. */
      readonly carrier: OriginalCarrier | undefined
      /** Absent when no usable list of ported numbers contains the number. */
      readonly ported?: PortingRecord
    })
  | NumberNotInService

/**
 * How the prefixes of a country are resolved: by an imported master list, by area code only, or not
 * at all because the rule is strict or the imported file is damaged.
 */
export interface NumberingCoverage {
  readonly mode: 'imported' | 'area-code' | 'strict' | 'damaged'
  readonly prefixes: number
  readonly asOf: Instant | undefined
  /** Number of thousands blocks with their own holder; absent when none are imported. */
  readonly blocks?: number
}

export interface NumberingPlan {
  lookup(number: PhoneNumber): NumberFacts
  coverage(): Readonly<Record<Country, NumberingCoverage>>
}

/** Place of a US ZIP or Canadian postal code; `undefined` when it is well formed but unknown. */
export interface PostalCodes {
  locate(postalCode: string): Place | undefined
}

/** Also matches empty text, which is treated as absent. */
export const postalCodePattern = /^(?:\d{5}(?:-?\d{4})?|[A-Za-z]\d[A-Za-z][ -]?\d[A-Za-z]\d)?$/

/**
 * Corrects a ZIP that a spreadsheet has changed: one without its leading zero (`2108`), or with a decimal (`90001.0`). Returns
 * any other text unchanged.
 */
export function repairZip(text: string): string {
  const [, zip, more = ''] = /^(\d{4,5})(-?\d{4})?(?:\.0+)?$/.exec(text) ?? []
  return zip === undefined ? text : zip.padStart(5, '0') + more
}

export const postalCodeRule = 'must be a US ZIP code or a Canadian postal code'
