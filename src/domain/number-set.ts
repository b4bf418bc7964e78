/** A set of telephone numbers as large as a national registry. */
import type { Instant } from './clock.js'
import type { PhoneNumber } from './phone-number.js'

export interface NumberSet {
  readonly name: string
  /** How many numbers are in it. */
  readonly size: number
  /** Names this exact content; changes with every import. */
  readonly version: string
  /** When the content was true, as told by whoever supplied it. */
  readonly asOf: Instant
  has(number: PhoneNumber): boolean
  /**
   * Whether the set speaks for this number's area code at all. A number that is absent from a set
   * which does not cover it is not known to be clean.
   */
  covers(number: PhoneNumber): boolean
}
