/**
 * A world is a script of public acts in time order, and of calls. It is data: what is frozen does not depend on the code that
 * once chose it.
 */

/** Where the answers come from. */
export const modes = ['own', 'one', 'fallback', 'any-no-blocks'] as const
export type Mode = (typeof modes)[number]

/** What the worlds are for: the calls are counted by it. */
const strata = ['own', 'one', 'two', 'counted', 'what-if'] as const
export type Stratum = (typeof strata)[number]

export interface World {
  readonly name: string
  readonly stratum: Stratum
  readonly mode: Mode
  readonly seed: number
  /** Whether the tests of every change run it. */
  readonly isSample?: true
  /** When it begins. */
  readonly at: string
  /** A settings file, in JSON. Addresses of vendors and Asterisk are filled in. */
  readonly settings: object
  readonly steps: readonly Step[]
}

/** In texts of requests, `{name.member}` is the member of the answer that was named so. */
export type Step =
  | readonly ['pass', ms: number]
  /** The clock on the wall is set. */
  | readonly ['wall', at: string]
  | readonly ['list', List]
  | readonly ['damage', list: string]
  | readonly ['facts', feed: 'reassigned' | 'line-status' | 'ported', file: string, text: string]
  /** The settings file is replaced and read. */
  | readonly ['settings', object]
  /** Rows of a vendor, which replace those it had. */
  | readonly ['rows', vendor: 0 | 1, Readonly<Record<string, VendorRow>>]
  | readonly ['fault', vendor: 0 | 1, question: VendorQuestion | 'all', VendorFault | 'none']
  | readonly ['send', Sent]
  /** What only the command line can do. */
  | readonly [
      'project',
      code: string,
      flags: { readonly industryExemption?: true; readonly voipRestricted?: true },
    ]
  | readonly ['do-not-originate', prefixes: readonly string[]]
  /** What a second person says of the call that waits. */
  | readonly ['approve', 'approve' | 'refuse']
  /** What became of the call whose answer has that name; by the key of the sandbox if none is given. */
  | readonly ['report', as: string, body: object, key?: string]
  /** One call. */
  | readonly ['call', Call]
  /** Two that are under way together. */
  | readonly ['pair', Call, Call]

export interface List {
  readonly name: string
  readonly numbers: readonly string[]
  readonly asOf: string
  readonly areaCodes: readonly string[] | 'all'
}

export interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly key: string
  readonly body?: unknown
  /** Names the answer. */
  readonly as?: string
}

const doors = ['decide', 'predial', 'preview', 'permit', 'use', 'ari'] as const
export type Door = (typeof doors)[number]

/** `fields` are those of the door; of `ari`, the arguments of Stasis() by name and the caller's number as `from`. */
export interface Call {
  readonly door: Door
  readonly key?: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly idempotencyKey?: string
  readonly as?: string
}

export type VendorQuestion = 'scrub' | 'internal-dnc' | 'litigator' | 'legal-time'
/** `silent` takes the request and never answers. */
export type VendorFault = 'error' | 'garbage' | 'silent' | 'no-row'

/** What differs from a number that may be called. */
export interface VendorRow {
  readonly letter?: string
  readonly reason?: string
  readonly ebr?: string
  readonly closedToday?: true
  readonly wireless?: true
  /** Flags for manual, autodialed and AI calls, as three digits. */
  readonly allowed?: string
  readonly onList?: true
  readonly litigator?: true
  /** Calling hours: closed, or a status that says the place is not known. */
  readonly hours?: 'closed' | 'unknown'
  /** Seconds that the window is open; 3,600 when absent. */
  readonly secondsLeft?: number
}

/** What is compared of a call: no text, no id, no age. A list, so that the file stays small. */
export type Tuple = readonly unknown[]

/** What came of a world. */
export interface Result {
  /** Of the calls, in order; of a pair, two. */
  readonly tuples: readonly Tuple[]
  /** The statuses of the requests that are no calls, in order. */
  readonly acts: readonly number[]
}
