/**
 * The items and rows of a scrub with internal names and typed values. The API converts them to the
 * form of the spec ("Scrub result row").
 */
import type { CallRow, EbrType, ResultLetter } from './compliance.js'
import type { ListVersion } from './number-set.js'

/** Supported versions; only version 8 has the fields after the line type. */
export const scrubVersions = [1, 2, 3, 4, 5, 6, 7, 8] as const
export type ScrubVersion = (typeof scrubVersions)[number]

/** One number of a request as received, with the caller's own id to echo and a postal code. */
export interface ScrubItem {
  readonly phone: string
  readonly reserved?: string | undefined
  readonly postalCode?: string | undefined
}

/** Texts are empty and other values absent when they are unknown or do not apply. */
export interface ScrubRow {
  readonly phone: string
  /** As shown in the requested version. */
  readonly letter: ResultLetter
  readonly reserved: string
  readonly reason: string
  /** Region of the number; empty when it may be in several. */
  readonly region: string
  /** `US` or `CA`. */
  readonly country: string
  readonly locale: string
  readonly carrierInfo: string
  readonly timeZoneCode: string
  /** Monday to Friday, Saturday, Sunday: `8:00-21:00;8:00-21:00;8:00-21:00`. */
  readonly callingWindow: string
  /** Minutes east of UTC at the time of the scrub; absent when the possible places differ. */
  readonly utcOffsetMinutes: number | undefined
  /** Absent on `D`, `I` and `M` rows. */
  readonly doNotCallToday: boolean | undefined
  /** `4`: ordinary restrictions as in `callingWindow`; `0`: only the region is known. */
  readonly callingTimeRestrictions: string
  readonly ebrType: EbrType | ''
  readonly isWirelessOrVoip: boolean | undefined
  /** `Wireless`, `VoIP` or `AllOther`. */
  readonly lineType: string
  /**
   * `YYYY-MM-DD`, the first day on which the record is no longer valid, such as the UTC day of the
   * opt-out that ended it. Empty when it does not end, as for a permission that was not revoked.
   */
  readonly ebrExpiresOn: string
  /** `YYYY-MM-DD`, when the number was ported from a landline to a wireless line. */
  readonly wirelessPortDate: string
  /** The postal code, when it determined the place. */
  readonly postalCode: string
  /** `PostalCode` or `NPANXX`. */
  readonly timeZoneSource: string
  readonly allowed: CallRow['allowed']
  /** The imported lists used for the row; they are reported in a reply header, not in the row. */
  readonly lists?: readonly ListVersion[] | undefined
  /** Also for a reply header: an opt-out makes the record on file ineffective. */
  readonly warning?: string | undefined
}
