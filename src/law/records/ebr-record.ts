import type { ConsentTerms } from '../../domain/compliance.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { toLocalTime } from '../../domain/time/time-zones.js'
import type { EbrTerms } from './ebr-expiry.js'

/** The record in force for a number, expired or not. */
export interface EbrRecord extends EbrTerms {
  /** Accurate to the second; `undefined` if the caller gave only a date. */
  readonly contactAt: Instant | undefined
  /** The last day on which the person confirmed the identity in a call. */
  readonly confirmedOn?: LocalDay | undefined
  /** Change sequence number, which orders the record against opt-outs; 0 for a fixed fact. */
  readonly storedSeq: number
  /** Its date comes from an import, so an opt-out that may be equally recent ends it. */
  readonly imported?: boolean | undefined
  /** Only a permission has one. */
  readonly consent?: ConsentTerms | undefined
  /** Whether it may override an opt-out: its key could end one when it was stored, and nobody else is needed for that. */
  readonly liftsOptOut: boolean
  /**
   * A fixed fact of the sandbox: in force for every project, with the same age at every instant and the
   * same expiry in every region, so that each line always has the same letter.
   */
  readonly isFixed?: true
}

/**
 * Dates a contact with a time by its day where the person is, in the earliest of several zones. The expiry of a relationship and
 * the check of reassigned numbers are computed from that day.
 */
export function useLocalDay<Contact extends Pick<EbrRecord, 'contactOn' | 'contactAt'>>(
  contact: Contact,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): Contact {
  const { contactOn, contactAt } = contact
  if (contactAt === undefined) return contact
  const days = places.map(({ zone }) => toLocalTime(zone, contactAt).day)
  return { ...contact, contactOn: Math.min(contactOn, ...days) }
}
