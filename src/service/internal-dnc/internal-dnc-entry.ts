import type { MaybePromise } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'

/** A number that is or was on a list; `removedAt` is null while it is on it. */
export interface InternalDncEntry {
  readonly addedAt: Instant
  readonly removedAt: Instant | null
  /** The latest opt-out, also one that came while the number was on the list already. */
  readonly optedOutAt: Instant
  /**
   * Number of the change that stored that opt-out: it ends every record with a lower
   * `EbrRecord.storedSeq`, whatever the dates. 0 where the dates alone count.
   */
  readonly optedOutSeq: number
  /** `optedOutAt` is the date of an imported row: a contact that may be of the same moment has ended. */
  readonly optedOutByDate?: boolean | undefined
}

/** `list` is a project's code; entries that were removed are found too. */
export interface InternalDncEntrySource {
  findEntry(
    accountId: string,
    list: string,
    number: PhoneNumber,
  ): MaybePromise<InternalDncEntry | undefined>
  /** By number. */
  findEntries(
    accountId: string,
    list: string,
    numbers: readonly PhoneNumber[],
  ): MaybePromise<ReadonlyMap<string, InternalDncEntry>>
}
