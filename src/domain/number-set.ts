/** A set of telephone numbers as large as a national registry. */

import type { PhoneNumber } from './phone-number.js'
import type { Instant, LocalDay } from './time/clock.js'

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
