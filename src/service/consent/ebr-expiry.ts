/**
 * How long an existing business relationship or a permission overrides a do-not-call match. Pure; the
 * months that a region honors are passed in from the calling rules.
 */

import type { ConsentTerms, EbrType } from '../../domain/compliance.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { addMonths, toUtcDay } from '../../domain/time/dates.js'
import { toLocalTime } from '../../domain/time/time-zones.js'

/** What the expiry of a record depends on. */
export interface EbrTerms {
  readonly type: EbrType
  /** The day of the sale, inquiry, permission or trial. */
  readonly contactOn: LocalDay
  /** The day a written obligation ends; used only in regions whose law says so. */
  readonly obligationEndsOn: LocalDay | undefined
  /** Of a permission that points to a consent. */
  readonly consent?: Pick<ConsentTerms, 'endsOn'> | undefined
}

/** The part of the calling rules that expiry needs. */
export interface EbrLaw {
  /** Months for which a region honors a sale or inquiry; 0 or `undefined` means no exemption. */
  ebrMonths(region: string, type: 'S' | 'I'): number | undefined
  /** Whether a sale exempts until its written obligation ends (New Jersey's rule). */
  obligationExempts(region: string): boolean
  /** Of the rule that gives the months. */
  ebrCitation(region: string): string | undefined
}

/** Expiry of a permission whose consent does not end: it is valid until it is revoked (spec, "EBR record"). */
export const neverExpires = Number.POSITIVE_INFINITY
/** Expiry of a record that never exempts. */
export const neverExempt = Number.NEGATIVE_INFINITY

/** Spec, "EBR record": federal expiry. */
const federalMonths = { S: 18, I: 3 } as const

/**
 * The first local day on which the record no longer exempts under US federal law. {@link neverExempt}
 * sorts before every day, {@link neverExpires} after.
 */
export function computeFederalExpiry(record: EbrTerms): LocalDay {
  return computeExpiry(record, (type) => federalMonths[type])
}

/** Like {@link computeFederalExpiry}, but under the law of the called party's region. */
export function computeRegionalExpiry(record: EbrTerms, region: string, law: EbrLaw): LocalDay {
  const byMonths = computeExpiry(record, (type) => law.ebrMonths(region, type) ?? 0)
  return Math.max(byMonths, computeObligationExpiry(record, region, law))
}

/** Whether the record exempts on a local day; it no longer does on its expiry day. */
export function isExemptOn(expiry: LocalDay, day: LocalDay): boolean {
  return day < expiry
}

/** Only a sale can have an open obligation, and the federal limit still applies. */
function computeObligationExpiry(record: EbrTerms, region: string, law: EbrLaw): LocalDay {
  const { type, obligationEndsOn } = record
  if (type !== 'S' || obligationEndsOn === undefined) return neverExempt
  if (!law.obligationExempts(region)) return neverExempt
  return Math.min(obligationEndsOn, computeFederalExpiry(record))
}

/** A newspaper trial never exempts, since no known rule grants it any months. */
function computeExpiry(
  { type, contactOn, consent }: EbrTerms,
  monthsOf: (type: 'S' | 'I') => number,
): LocalDay {
  if (type === 'P') return consent?.endsOn ?? neverExpires
  const months = type === 'T' ? 0 : monthsOf(type)
  return months > 0 ? addMonths(contactOn, months) : neverExempt
}

/**
 * Whether the existing record expires later than the new one (spec, `keepBetterEBR`). Federal expiry is
 * compared first; on a tie, the earliest expiry among the number's regions. A permission whose consent has ended is none.
 */
export function expiresAfter(
  kept: EbrTerms,
  added: EbrTerms,
  {
    places,
    law,
    at,
  }: {
    readonly places: readonly Pick<CandidatePlace, 'region' | 'zone'>[]
    readonly law: EbrLaw
    readonly at: Instant
  },
): boolean {
  const days = places.map(({ zone }) => toLocalTime(zone, at).day)
  const today = Math.max(...(days.length > 0 ? days : [toUtcDay(at)]))
  if (!isExemptOn(kept.consent?.endsOn ?? neverExpires, today)) return false
  const [keptUntil, addedUntil] = [computeFederalExpiry(kept), computeFederalExpiry(added)]
  if (keptUntil !== addedUntil) return keptUntil > addedUntil
  const strictest = (record: EbrTerms) =>
    Math.min(...places.map(({ region }) => computeRegionalExpiry(record, region, law)))
  return strictest(kept) > strictest(added)
}
