import type { ConsentTerms, MaybePromise } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { parseDay, toUtcDay } from '../../domain/time/dates.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import type { ChangeRequests } from '../changes/change-requests.js'
import type { StoredEbr } from './ebr-rows.js'

/** Nothing shows that it was given. */
export const withoutEvidence: ConsentTerms = { evidence: 'none' }

/**
 * Limits the contact to the time of its report. East of UTC a consent may be dated a day ahead of its
 * report, but an opt-out received after the report must still be the newer of the two. Where only a second person can end an opt-out
 * (`twoPeople.for` with `lift-opt-out`), no record does: this is the one place where that is decided.
 */
export function toEbrRecord(
  row: Omit<StoredEbr, 'id' | 'number'>,
  changeRequests: Pick<ChangeRequests, 'isNeededFor'>,
): EbrRecord {
  const contactOn = parseStoredDay(row.contact_on)
  return {
    type: row.type,
    contactOn: Math.min(contactOn, toUtcDay(row.recorded_at)),
    contactAt: row.contact_at === null ? undefined : Math.min(row.contact_at, row.recorded_at),
    obligationEndsOn:
      row.obligation_ends_on === null ? undefined : parseStoredDay(row.obligation_ends_on),
    confirmedOn: row.confirmed_on ? parseStoredDay(row.confirmed_on) : undefined,
    storedSeq: row.stored_seq,
    ...(row.imported === 1 && { imported: true }),
    ...(row.type === 'P' && { consent: row.consent ? JSON.parse(row.consent) : withoutEvidence }),
    liftsOptOut: row.lifts_opt_out === 1 && !changeRequests.isNeededFor('lift-opt-out'),
  }
}

/** The records in force, whether or not they have expired. */
export interface EbrRecordSource {
  findRecord(
    accountId: string,
    ebrProject: string,
    number: PhoneNumber,
    fixedFacts: { ebrRecord(number: PhoneNumber): EbrRecord | undefined } | undefined,
  ): MaybePromise<EbrRecord | undefined>
  /** The records in force, keyed by number. */
  findRecords(
    accountId: string,
    ebrProject: string,
    numbers: readonly PhoneNumber[],
  ): MaybePromise<ReadonlyMap<string, EbrRecord>>
}

/** Throws for a damaged row, since an unreadable record must not exempt. */
function parseStoredDay(text: string): LocalDay {
  const day = parseDay(text)
  if (day === undefined) throw new Error(`ebr_records contains the unreadable day '${text}'`)
  return day
}
