import type { MaybePromise } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { InternalDncEntry } from '../../law/records/opt-out.js'
import type { FixedFacts } from '../account-view.js'

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
