/**
 * How long an existing business relationship or a consent lifts a do-not-call match. Pure; how many
 * months a region honours comes in from the calling rules.
 */

import type { EbrType } from '../../domain/compliance.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { addMonths } from '../../domain/time/dates.js'

/** What the expiry of a record depends on. */
export interface EbrTerms {
  readonly type: EbrType
  /** The day of the sale, inquiry, consent or trial. */
  readonly contactOn: LocalDay
  /** The day a written obligation ends; counts only where the region says so. */
  readonly obligationEndsOn: LocalDay | undefined
}

/** The part of the calling rules that expiry needs. */
export interface EbrLaw {
  /** Months a region honours a sale or inquiry; 0 or `undefined` is no exemption. */
  ebrMonths(region: string, type: 'S' | 'I'): number | undefined
  /** Whether a sale exempts until its written obligation ends (New Jersey's rule). */
  obligationExempts(region: string): boolean
}

/** Expiry of a permission, which stands until it is revoked (spec, "EBR record"). */
export const neverExpires = Number.POSITIVE_INFINITY
/** Expiry of a record that exempts on no day at all. */
export const neverExempt = Number.NEGATIVE_INFINITY

/** Spec, "EBR record": federal expiry. */
const federalMonths = { S: 18, I: 3 } as const

/**
 * The first local day on which the record no longer exempts under United States federal law;
 * {@link neverExpires} and {@link neverExempt} order before and after every day.
 */
export function computeFederalExpiry(record: EbrTerms): LocalDay {
  return computeExpiry(record, (type) => federalMonths[type])
}

/** As {@link computeFederalExpiry}, for a called party in this region. */
export function computeRegionalExpiry(record: EbrTerms, region: string, law: EbrLaw): LocalDay {
  const byMonths = computeExpiry(record, (type) => law.ebrMonths(region, type) ?? 0)
  return Math.max(byMonths, computeObligationExpiry(record, region, law))
}

/** Whether the record exempts on a local day; on the expiry day it no longer does. */
export function isExemptOn(expiry: LocalDay, day: LocalDay): boolean {
  return day < expiry
}

/** An open contract makes a customer, an inquiry does not; the federal limit holds beside it. */
function computeObligationExpiry(record: EbrTerms, region: string, law: EbrLaw): LocalDay {
  const { type, obligationEndsOn } = record
  if (type !== 'S' || obligationEndsOn === undefined) return neverExempt
  if (!law.obligationExempts(region)) return neverExempt
  return Math.min(obligationEndsOn, computeFederalExpiry(record))
}

/** A newspaper trial exempts nowhere: no rule is known that gives it months. */
function computeExpiry(
  { type, contactOn }: EbrTerms,
  monthsOf: (type: 'S' | 'I') => number,
): LocalDay {
  if (type === 'P') return neverExpires
  const months = type === 'T' ? 0 : monthsOf(type)
  return months > 0 ? addMonths(contactOn, months) : neverExempt
}

/**
 * Whether a record already kept outlasts a new one: the later federal expiry ranks; on a tie the
 * later expiry in the number's regions, the strictest of them counting (spec, `keepBetterEBR`).
 */
export function expiresAfter(
  kept: EbrTerms,
  added: EbrTerms,
  place: { readonly regions: readonly string[]; readonly law: EbrLaw },
): boolean {
  const [keptUntil, addedUntil] = [computeFederalExpiry(kept), computeFederalExpiry(added)]
  if (keptUntil !== addedUntil) return keptUntil > addedUntil
  const strictest = (record: EbrTerms) =>
    Math.min(...place.regions.map((region) => computeRegionalExpiry(record, region, place.law)))
  return strictest(kept) > strictest(added)
}
