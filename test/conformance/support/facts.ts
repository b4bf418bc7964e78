/**
 * What is known of the numbers of a server: the suite cannot find out for itself which number is a
 * litigator's. Every part may be missing; the cases that need it are skipped then.
 */
export interface Facts {
  readonly about?: string
  /** Of the account; decides which carriers label its numbers. */
  readonly country?: 'US' | 'CA'
  /** Numbers in service under known hours. */
  readonly places?: Readonly<Partial<Record<PlaceName, KnownPlace>>>
  /** Ten digits whose first six are assigned to nobody. */
  readonly unknownPrefix?: string
  readonly scrub?: readonly KnownRow[]
  readonly litigators?: readonly string[]
  readonly notLitigators?: readonly string[]
  readonly identification?: readonly KnownAnswer[]
  readonly disconnect?: readonly KnownAnswer[]
  readonly residential?: readonly KnownAnswer[]
  /** `date` is the consent date to ask with: `YYYY-MM-DD`, or how many days ago. */
  readonly reassigned?: readonly (KnownAnswer & { readonly date: string | number })[]
  /** Numbers whose labels are known; `answer` holds fields of a scan result. */
  readonly labels?: readonly KnownAnswer[]
  /** A project of the account that already exists. */
  readonly project?: {
    readonly code: string
    /** A place whose hours the project sets, and a narrower window than the law's. */
    readonly hours?: { readonly place: PlaceName; readonly from: string; readonly until: string }
  }
  /** Numbers on which consents and list entries may be written: every area code with every line. */
  readonly writable?: {
    readonly areaCodes: readonly string[]
    /** Seven digits. */
    readonly landline: string
    readonly wireless?: string
    readonly voip?: string
  }
}

/** Places by the hours that hold there. */
export type PlaceName =
  | 'eight-to-eight-no-sunday'
  | 'nine-to-nine'
  | 'eight-to-eight'
  | 'us-baseline'
  | 'canada'

interface KnownPlace {
  readonly phone: string
  /** Name of the IANA zone. */
  readonly zone: string
}

/** A number and the fields of version 8 that its scrub row must hold. */
interface KnownRow {
  readonly phone: string
  readonly about: string
  readonly row: Readonly<Record<string, string>>
}

interface KnownAnswer {
  readonly phone: string
  readonly about: string
  readonly answer: Readonly<Record<string, unknown>>
}
