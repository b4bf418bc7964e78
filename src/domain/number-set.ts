/** A set of telephone numbers as large as a national registry. */

import type { PhoneNumber } from './phone-number.js'
import type { Instant, LocalDay } from './time/clock.js'
import { toUtcDay } from './time/dates.js'
import type { Said } from './words/words.js'

/** Identifies the content of a list that was used. */
export interface ListVersion {
  readonly name: string
  /** Identifies this exact content; changes with every import. */
  readonly version: string
  /** The date of the content according to its supplier. */
  readonly asOf: Instant
}

/** State by age: `soon-stale` should be replaced, `stale` is not used. */
export const listStates = ['fresh', 'soon-stale', 'stale'] as const
export type ListState = (typeof listStates)[number]

export interface NumberSet extends ListVersion {
  /** How many numbers are in it. */
  readonly size: number
  has(number: PhoneNumber): boolean
  /**
   * Whether the set covers this number's area code. A number that is absent from a set which does not
   * cover it is not known to be clean.
   */
  covers(number: PhoneNumber): boolean
  /** The listing day of a number in the set; absent or `undefined` when the source gives none. */
  dayOf?(number: PhoneNumber): LocalDay | undefined
}

/** What a finding is based on. */
export interface ListEvidence {
  /** The versions of the lists that were checked; a list that is not loaded is not among them. */
  readonly lists: readonly ListVersion[]
  /** When the first of the lists becomes too old and the finding expires; absent if none does. */
  readonly holdsUntil?: Instant | undefined
}

/** The result of checking a number against one or more lists. */
export type ListFinding = ListEvidence &
  (
    | {
        readonly status: 'listed'
        readonly asOf: Instant
        /** The day the number was listed, if the source gives it. */
        readonly listedOn?: LocalDay | undefined
      }
    | { readonly status: 'clear' }
    /** No usable list covers the number; `says` has how the operator can fix this. */
    | {
        readonly status: 'not-covered'
        readonly says: readonly Said[]
        /** The list exists, but its file cannot be used. */
        readonly isUnusable?: boolean
        /** A list covers the number but is too old. */
        readonly isStale?: boolean
      }
  )

export type StateFinding = ListFinding & { readonly region?: string }

export const noListEvidence: ListEvidence = { lists: [] }
export const noStateFinding: StateFinding = { status: 'clear', ...noListEvidence }

/** When the first of the findings expires; infinity if none does. */
export function findListsEnd(found: readonly (ListEvidence | undefined)[]): Instant {
  return Math.min(...found.map((one) => one?.holdsUntil ?? Number.POSITIVE_INFINITY))
}

/** The day on which the number was listed, or the list's as-of day if the list has no days. */
export function findListedDay(found: ListFinding): LocalDay | undefined {
  if (found.status !== 'listed') return undefined
  return found.listedOn ?? toUtcDay(found.asOf)
}
