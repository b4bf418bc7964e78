import type { MaybePromise } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { parseDay, toUtcDay } from '../../domain/time/dates.js'
import type { EbrTerms } from './ebr-expiry.js'
import type { StoredEbr } from './ebr-rows.js'

/** The record in force for a number, expired or not. */
export interface EbrRecord extends EbrTerms {
  /** To the second, where the caller gave a time of day. */
  readonly contactAt: Instant | undefined
  /** The number of the change that stored it, which orders it against opt-outs; 0 for a fixed fact. */
  readonly storedSeq: number
  /** It is as old as an import says: an opt-out that may be of the same moment has ended it. */
  readonly imported?: boolean | undefined
  /** Whether it may lift an opt-out; judged when it was stored, and not again. */
  readonly liftsOptOut: boolean
  /**
   * A fixed fact of the sandbox: in force for every project, as old at any instant as it is now, and
   * the same in every region, so that each line has one letter.
   */
  readonly isFixed?: true
}

/**
 * A contact counts from its report at the latest. Where it is already tomorrow, a consent may be dated
 * ahead of its report; an opt-out after the report must still be the newer of the two.
 */
export function toEbrRecord(row: Omit<StoredEbr, 'id' | 'number'>): EbrRecord {
  const contactOn = parseStoredDay(row.contact_on)
  return {
    type: row.type,
    contactOn: Math.min(contactOn, toUtcDay(row.recorded_at)),
    contactAt: row.contact_at === null ? undefined : Math.min(row.contact_at, row.recorded_at),
    obligationEndsOn:
      row.obligation_ends_on === null ? undefined : parseStoredDay(row.obligation_ends_on),
    storedSeq: row.stored_seq,
    ...(row.imported === 1 && { imported: true }),
    liftsOptOut: row.lifts_opt_out === 1,
  }
}

/** The records in force, whether or not they have expired. */
export interface EbrRecordSource {
  findRecord(
    accountId: string,
    ebrProject: string,
    number: PhoneNumber,
  ): MaybePromise<EbrRecord | undefined>
  /** By number. */
  findRecords(
    accountId: string,
    ebrProject: string,
    numbers: readonly PhoneNumber[],
  ): MaybePromise<ReadonlyMap<string, EbrRecord>>
}

/** Throws for a damaged row, since an unreadable record must not exempt. */
function parseStoredDay(text: string): LocalDay {
  const day = parseDay(text)
  if (day === undefined) throw new Error(`ebr_records holds the unreadable day '${text}'`)
  return day
}
