/**
 * What the internal list and the relationship record on file mean together for a number at an
 * instant. Pure. The newer of permission and list entry counts, on a tie the entry (spec,
 * "Internal DNC membership"); which was stored first is a matter of the database's sequence, not of
 * any clock. How long a record holds is in `ebr-expiry.ts`.
 */

import type { EbrType } from '../../domain/compliance.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay, formatInstant, msPerDay, toUtcDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import {
  computeFederalExpiry,
  computeRegionalExpiry,
  type EbrLaw,
  isExemptOn,
} from '../consent/ebr-expiry.js'
import type { EbrRecord } from '../consent/ebr-record.js'
import { decodeDateOnly } from '../internal-dnc/date-only-opt-out.js'
import type { InternalDncEntry } from '../internal-dnc/internal-dnc-entry.js'
import type { ResultLetterInput } from './result-letter.js'

export interface RelationshipInput {
  readonly entry: InternalDncEntry | undefined
  readonly record: EbrRecord | undefined
  /** Everywhere the called party may be; never empty. The strictest place counts. */
  readonly places: readonly CandidatePlace[]
  /** The instant at which the record's age is judged. */
  readonly at: Instant
  readonly law: EbrLaw
}

export interface RelationshipFinding
  extends Pick<ResultLetterInput, 'internalList' | 'relationship'> {
  /** Type of the record on file, whether or not it still holds. */
  readonly ebrType: EbrType | ''
  /** First local day on which the record no longer holds; absent where it has no end, and for none. */
  readonly expiresOn: LocalDay | undefined
  /** Set where it is because of an opt-out that the record does not act. */
  readonly optOut?: OptOutEffect | undefined
}

export interface OptOutEffect {
  /**
   * `ended`: the opt-out ended the record. `not-lifted`: the record is newer, but of an Agent's key
   * and does not lift the opt-out.
   */
  readonly effect: 'ended' | 'not-lifted'
  readonly optedOutAt: Instant
}

export const recordNames: Readonly<Record<EbrType, string>> = {
  S: 'sale',
  I: 'inquiry',
  P: 'permission',
  T: 'trial',
}

/** For people, about a record on file. */
export function formatOptOutEffect(type: EbrType, { effect, optedOutAt }: OptOutEffect): string {
  const day = decodeDateOnly(optedOutAt)
  const optOut = `the opt-out of ${day === undefined ? formatInstant(optedOutAt) : formatDay(day)}`
  const record = `the ${recordNames[type]} record on file`
  if (effect === 'ended') return `${optOut} ended ${record}`
  return `${record} was stored with an Agent's key and does not lift ${optOut}`
}

export function evaluateRelationship(question: RelationshipInput): RelationshipFinding {
  const { entry, record, places, at } = question
  const onList = entry?.removedAt === null
  if (!record) {
    const internalList = onList ? 'listed' : 'absent'
    return { internalList, relationship: 'none', ebrType: '', expiresOn: undefined }
  }
  const optOut = findOptOutEffect(record, entry, places)
  const lawful = computeExpiry(record, question)
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
    optOut,
  }
}

/** A permission that is newer than the entry lifts it, unless it was stored with an Agent's key. */
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

function computeExpiry(record: EbrRecord, { law, places }: RelationshipInput): LocalDay {
  if (record.isFixed) return computeFederalExpiry(record)
  return Math.min(...places.map(({ region }) => computeRegionalExpiry(record, region, law)))
}

/**
 * A record ends when its number is put on the list (spec, "EBR record"), and taking the number off
 * again does not revive it. One that was stored before the opt-out has ended whatever its date: a
 * clock may have been wrong when either was written. One stored after it must also be dated after
 * it, and once the number is off the list not before the day of the opt-out. Where one of the
 * two is as old as an import says, nobody knows which of one day came first, and the record has ended.
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

/** The latest instant that may be meant: of a day alone, its end in UTC or in one of the places. */
function lastInstantOf(
  { contactOn, contactAt }: Pick<EbrRecord, 'contactOn' | 'contactAt'>,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): Instant {
  if (contactAt !== undefined) return contactAt
  const ends = places.map(({ zone }) => toInstant(zone, contactOn + 1, 0, 'later'))
  return Math.max((contactOn + 1) * msPerDay, ...ends)
}

/**
 * Whether a contact is newer than an opt-out. A contact known to its day alone counts from the first
 * moment that may be meant: the start of that day in UTC or in one of the places. So an opt-out of
 * the same day always wins. One known to its day alone counts until the last moment that may be meant.
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
