import type { MaybePromise } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import type { FixedFacts } from '../account-view.js'

/** A number that is or was on a list; `removedAt` is null while it is on it. */
export interface InternalDncEntry {
  readonly addedAt: Instant
  readonly removedAt: Instant | null
  /** The latest opt-out, including one received while the number was already on the list. */
  readonly optedOutAt: Instant
  /**
   * Change sequence number of that opt-out, which ends every record with a lower
   * `EbrRecord.storedSeq`, whatever the dates. With 0, only the dates are compared.
   */
  readonly optedOutSeq: number
  /** `optedOutAt` comes from an import, so the opt-out ends a contact that may be equally recent. */
  readonly optedOutByDate?: boolean | undefined
}

/** Finds entries by number. `list` is a project's code; removed entries are included. */
export interface InternalDncEntrySource {
  findEntry(
    accountId: string,
    list: string,
    number: PhoneNumber,
    fixedFacts: FixedFacts | undefined,
  ): MaybePromise<InternalDncEntry | undefined>
  /** The entries found, keyed by number. */
  findEntries(
    accountId: string,
    list: string,
    numbers: readonly PhoneNumber[],
  ): MaybePromise<ReadonlyMap<string, InternalDncEntry>>
}
