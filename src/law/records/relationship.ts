/**
 * What a number's internal list entry and relationship record come to. The newer of permission and list entry applies; on a
 * tie, the entry (spec, "Internal DNC membership"). The order in which they were stored is given by the database's sequence
 * numbers, not by a clock.
 */
import type { EbrType } from '../../domain/compliance.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, toUtcDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import {
  computeFederalExpiry,
  computeRegionalExpiry,
  type EbrLaw,
  isExemptOn,
  neverExpires,
  type RegionDay,
} from './ebr-expiry.js'
import type { EbrRecord } from './ebr-record.js'
import { decodeDateOnly, type InternalDncEntry } from './opt-out.js'
import type { ResultLetterInput } from './result-letter.js'

export interface RelationshipInput {
  readonly entry: InternalDncEntry | undefined
  readonly record: EbrRecord | undefined
  /** Every place the called party may be in; never empty. The strictest place applies. */
  readonly places: readonly CandidatePlace[]
  /** The instant at which the record's age is evaluated. */
  readonly at: Instant
  readonly law: EbrLaw
}

export interface RelationshipFinding
  extends Pick<ResultLetterInput, 'internalList' | 'relationship'> {
  /** Type of the record on file, even if it has expired. */
  readonly ebrType: EbrType | ''
  /** First local day on which the record is expired; absent if it never expires or there is none. */
  readonly expiresOn: LocalDay | undefined
  /** The region and citation of the rule that sets the end of a sale or an inquiry. */
  readonly endsBy?: { readonly region: string; readonly citation: string | undefined } | undefined
  /** Set if an opt-out is the reason that the record has no effect. */
  readonly optOut?: OptOutEffect | undefined
}

export interface OptOutEffect {
  /**
   * `ended`: the opt-out ended the record. `not-lifted`: the record is newer, but was stored with a key
   * that may not lift opt-outs, or only a second person may.
   */
  readonly effect: 'ended' | 'not-lifted'
  readonly optedOutAt: Instant
}

export function evaluateRelationship(question: RelationshipInput): RelationshipFinding {
  const { entry, record, places, at } = question
  const onList = entry?.removedAt === null
  if (!record) {
    const internalList = onList ? 'listed' : 'absent'
    return { internalList, relationship: 'none', ebrType: '', expiresOn: undefined }
  }
  const optOut = findOptOutEffect(record, entry, places)
  const { expiry: lawful, endsBy } = computeExpiry(record, question)
  const expiry = optOut?.effect === 'ended' ? Math.min(lawful, toUtcDay(optOut.optedOutAt)) : lawful
  const current =
    optOut?.effect !== 'ended' &&
    places.every(({ zone }) => isExemptOn(lawful, toLocalTime(zone, at).day))
  const lifts = current && record.type === 'P' && optOut === undefined
  return {
    internalList: onList ? (lifts ? 'overridden' : 'listed') : 'absent',
    relationship: current ? 'current' : 'expired',
    ebrType: record.type,
    expiresOn: Number.isFinite(expiry) ? expiry : undefined,
    endsBy,
    optOut,
  }
}

/**
 * How the entry's opt-out affects the record; `undefined` if it does not. A permission that is newer
 * than the opt-out lifts it, unless it was stored with a key that may not lift opt-outs.
 */
export function findOptOutEffect(
  record: EbrRecord,
  entry: InternalDncEntry | undefined,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): OptOutEffect | undefined {
  if (!entry) return undefined
  const { optedOutAt } = entry
  if (isEndedByOptOut(record, entry, places)) return { effect: 'ended', optedOutAt }
  const mayLift = record.liftsOptOut || record.type !== 'P' || entry.removedAt !== null
  return mayLift ? undefined : { effect: 'not-lifted', optedOutAt }
}

function computeExpiry(
  record: EbrRecord,
  { law, places, at }: RelationshipInput,
): { readonly expiry: LocalDay; readonly endsBy?: RelationshipFinding['endsBy'] } {
  // A permission ends with its consent, wherever the number is.
  if (record.isFixed || record.type === 'P') return { expiry: computeFederalExpiry(record) }
  let expiry = neverExpires
  let strictest: RegionDay | undefined
  for (const { region, zone } of places) {
    const local = { region, day: toLocalTime(zone, at).day }
    const inRegion = computeRegionalExpiry(record, local, law)
    if (inRegion >= expiry) continue
    expiry = inRegion
    strictest = local
  }
  // No known rule gives a trial an end.
  if (strictest === undefined || record.type === 'T') return { expiry }
  const { region, day } = strictest
  // If the record ends later, the row in force on its last day decides.
  const rule = law.findEbrRule(region, Math.max(day, expiry))
  return { expiry, endsBy: { region, citation: rule?.citation } }
}

/**
 * A record ends when its number is put on the list (spec, "EBR record"), and removing the number from
 * the list does not revive it. A record stored before the opt-out has ended whatever its date, since a
 * clock may have been wrong. One stored after it must also be dated after it; once the number is off
 * the list, the day of the opt-out is late enough. If either is dated by an import, their order within
 * a day is unknown, so the record has ended.
 */
function isEndedByOptOut(
  record: EbrRecord,
  entry: InternalDncEntry,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): boolean {
  if (record.storedSeq < entry.optedOutSeq) return true
  if (isNewer(record, entry.optedOutAt, places)) return false
  if (entry.removedAt === null || record.storedSeq <= entry.optedOutSeq) return true
  if (entry.optedOutSeq === 0 || entry.optedOutByDate || record.imported) return true
  return lastInstantOf(record, places) < entry.optedOutAt
}

/** The latest possible instant of the contact: for a date alone, its end in UTC or in one of the places. */
function lastInstantOf(
  { contactOn, contactAt }: Pick<EbrRecord, 'contactOn' | 'contactAt'>,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): Instant {
  if (contactAt !== undefined) return contactAt
  const ends = places.map(({ zone }) => toInstant(zone, contactOn + 1, 0, 'later'))
  return Math.max((contactOn + 1) * msPerDay, ...ends)
}

/**
 * Whether a contact is newer than an opt-out. A contact with only a date is taken to be at the earliest
 * possible instant: the start of that day in UTC or in one of the places. An opt-out with only a date
 * is taken to be at the latest. So on the same day the opt-out always wins.
 */
function isNewer(
  contact: Pick<EbrRecord, 'contactOn' | 'contactAt'>,
  optedOutAt: Instant,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): boolean {
  const { contactOn, contactAt } = contact
  const optedOutOn = decodeDateOnly(optedOutAt)
  if (contactAt === undefined) {
    const starts = places.map(({ zone }) => toInstant(zone, contactOn, 0, 'earlier'))
    return optedOutAt < Math.min(contactOn * msPerDay, ...starts)
  }
  const ends =
    optedOutOn === undefined ? [] : places.map(({ zone }) => endOfLocalDay(zone, optedOutOn))
  return Math.floor(contactAt / 1000) > Math.floor(Math.max(optedOutAt, ...ends) / 1000)
}

function endOfLocalDay(zone: CandidatePlace['zone'], day: LocalDay): Instant {
  return toInstant(zone, day + 1, 0, 'later') - 1
}
