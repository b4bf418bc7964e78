/**
 * What the internal list and the relationship record on file mean together for a number at an
 * instant. Pure. The newer of permission and list entry counts, on a tie the entry (spec,
 * "Internal DNC membership"); how long a record holds is told by `ebr-expiry.ts`.
 */
import type { Instant, LocalDay } from '../../domain/clock.js'
import type { EbrType } from '../../domain/compliance.js'
import type { CandidatePlace } from '../../domain/place.js'
import { instantOf, localTime } from '../../domain/zones.js'
import type { EbrRecord } from '../consent/consent.js'
import { type EbrLaw, exemptsOn, expiryIn } from '../consent/ebr-expiry.js'
import type { InternalDncEntry } from '../internal-dnc/internal-dnc.js'
import type { LetterFacts } from './letter.js'

export interface RecordsQuestion {
  readonly entry: InternalDncEntry | undefined
  readonly record: EbrRecord | undefined
  /** Everywhere the called party may be; never empty. The strictest place counts. */
  readonly places: readonly CandidatePlace[]
  /** The instant at which the record's age is judged. */
  readonly at: Instant
  readonly law: EbrLaw
}

export interface RecordsFinding extends Pick<LetterFacts, 'internalList' | 'relationship'> {
  /** Type of the record on file, whether or not it still holds. */
  readonly ebrType: EbrType | ''
  /** First local day on which the record no longer holds; absent for a permission and for none. */
  readonly expiresOn: LocalDay | undefined
}

export function judgeRecords(question: RecordsQuestion): RecordsFinding {
  const { entry, record, places, at, law } = question
  const onList = entry?.removedAt === null
  if (!record) {
    const internalList = onList ? 'listed' : 'absent'
    return { internalList, relationship: 'none', ebrType: '', expiresOn: undefined }
  }
  const expiry = Math.min(...places.map(({ region }) => expiryIn(record, region, law)))
  const current =
    !isEnded(record, entry, places) &&
    places.every(({ zone }) => exemptsOn(expiry, localTime(zone, at).day))
  return {
    internalList: onList ? (current && record.type === 'P' ? 'overridden' : 'listed') : 'absent',
    relationship: current ? 'current' : 'expired',
    ebrType: record.type,
    expiresOn: Number.isFinite(expiry) ? expiry : undefined,
  }
}

/**
 * A record ends when its number is put on the list (spec, "EBR record"), and taking the number off
 * again does not revive it: it must have been stored after the entry was made.
 */
function isEnded(
  record: EbrRecord,
  entry: InternalDncEntry | undefined,
  places: readonly CandidatePlace[],
): boolean {
  if (!entry || isNewer(record, entry.addedAt, places)) return false
  return entry.removedAt === null || record.recordedAt < entry.addedAt
}

/**
 * Whether a contact is newer than an instant. A contact known to its day alone counts from the
 * first moment that may be meant: the start of that day in UTC or in one of the places. So an entry
 * of the same day always wins.
 */
export function isNewer(
  contact: Pick<EbrRecord, 'contactOn' | 'contactAt'>,
  than: Instant,
  places: readonly CandidatePlace[],
): boolean {
  const { contactOn, contactAt } = contact
  if (contactAt !== undefined) return Math.floor(contactAt / 1000) > Math.floor(than / 1000)
  const starts = places.map(({ zone }) => instantOf(zone, contactOn, 0, 'earlier'))
  return than < Math.min(contactOn * 86_400_000, ...starts)
}
