/** A set of telephone numbers as large as a national registry. */
import type { Instant, LocalDay } from './clock.js'
import type { PhoneNumber } from './phone-number.js'

/** Which content of a list something rests on. */
export interface ListVersion {
  readonly name: string
  /** Names this exact content; changes with every import. */
  readonly version: string
  /** When the content was true, as told by whoever supplied it. */
  readonly asOf: Instant
}

/** By age: `soon-stale` is to be replaced, `stale` answers nothing. */
export const listStates = ['fresh', 'soon-stale', 'stale'] as const
export type ListState = (typeof listStates)[number]

export interface NumberSet extends ListVersion {
  /** How many numbers are in it. */
  readonly size: number
  has(number: PhoneNumber): boolean
  /**
   * Whether the set speaks for this number's area code at all. A number that is absent from a set
   * which does not cover it is not known to be clean.
   */
  covers(number: PhoneNumber): boolean
  /** The day the source gives for a number that is in it; absent or `undefined` when it gives none. */
  dayOf?(number: PhoneNumber): LocalDay | undefined
}
