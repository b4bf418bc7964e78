/**
 * The scrub's question and answer in our own names and typed values: what the scrub makes and the
 * API writes in the spelling of the spec ("Scrub result row").
 */
import type { EbrType, ResultLetter, ScrubVerdict } from './compliance.js'
import type { ListVersion } from './number-set.js'

/** Versions that are served; from 8 on a row has the fields after the line type. */
export const scrubVersions = [1, 2, 3, 4, 5, 6, 7, 8] as const
export type ScrubVersion = (typeof scrubVersions)[number]

/** One number of a request: as received, with the caller's own id to echo and a postal code. */
export interface ScrubItem {
  readonly phone: string
  readonly reserved?: string | undefined
  readonly postalCode?: string | undefined
}

/** Texts are empty and other values absent where nothing is known or the row says nothing. */
export interface ScrubRow {
  readonly phone: string
  /** As the asked version shows it. */
  readonly letter: ResultLetter
  readonly reserved: string
  readonly reason: string
  /** Of the number; empty when it may be in several. */
  readonly region: string
  /** `US` or `CA`. */
  readonly country: string
  readonly locale: string
  readonly carrierInfo: string
  readonly timeZoneCode: string
  /** Monday to Friday, Saturday, Sunday: `8:00-21:00;8:00-21:00;8:00-21:00`. */
  readonly callingWindow: string
  /** Minutes east of UTC at the judged instant; absent when the possible places differ. */
  readonly utcOffsetMinutes: number | undefined
  /** Absent on `D`, `I` and `M` rows. */
  readonly doNotCallToday: boolean | undefined
  /** `4`: ordinary restrictions as in `callingWindow`; `0`: the place is known to a region only. */
  readonly callingTimeRestrictions: string
  readonly ebrType: EbrType | ''
  readonly isWirelessOrVoip: boolean | undefined
  /** `Wireless`, `VoIP` or `AllOther`. */
  readonly lineType: string
  /**
   * `YYYY-MM-DD`, the first day on which the record no longer holds: the UTC day of the opt-out that
   * ended it. Empty where it has no end, as a permission that nobody revoked.
   */
  readonly ebrExpiresOn: string
  /** `YYYY-MM-DD`, when the number was ported from a landline to a wireless line. */
  readonly wirelessPortDate: string
  /** The postal code, when the place was found by it. */
  readonly postalCode: string
  /** `PostalCode` or `NPANXX`. */
  readonly timeZoneSource: string
  readonly allowed: ScrubVerdict['allowed']
  /** The imported lists the row rests on; they are told of the reply, not of the row. */
  readonly lists?: readonly ListVersion[] | undefined
  /** Told of the reply as well: that an opt-out keeps the record on file from acting. */
  readonly warning?: string | undefined
}
