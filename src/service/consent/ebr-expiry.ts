/**
 * How long an existing business relationship or a consent lifts a do-not-call match. Pure; how many
 * months a region honours comes in from the calling rules.
 */
import { addMonths, type LocalDay } from '../../domain/clock.js'
import type { EbrType } from '../../domain/compliance.js'

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
export const noExemption = Number.NEGATIVE_INFINITY

/** Spec, "EBR record": federal expiry. */
const federalMonths = { S: 18, I: 3 } as const

/**
 * The first local day on which the record no longer exempts under United States federal law;
 * {@link neverExpires} and {@link noExemption} order before and after every day.
 */
export function federalExpiry(record: EbrTerms): LocalDay {
  return expiryAfter(record, (type) => federalMonths[type])
}

/** As {@link federalExpiry}, for a called party in this region. */
export function expiryIn(record: EbrTerms, region: string, law: EbrLaw): LocalDay {
  const byMonths = expiryAfter(record, (type) => law.ebrMonths(region, type) ?? 0)
  return Math.max(byMonths, obligationExpiry(record, region, law))
}

/** Whether the record exempts on a local day; on the expiry day it no longer does. */
export function exemptsOn(expiry: LocalDay, day: LocalDay): boolean {
  return day < expiry
}

/** An open contract makes a customer, an inquiry does not; the federal limit holds beside it. */
function obligationExpiry(record: EbrTerms, region: string, law: EbrLaw): LocalDay {
  const { type, obligationEndsOn } = record
  if (type !== 'S' || obligationEndsOn === undefined) return noExemption
  if (!law.obligationExempts(region)) return noExemption
  return Math.min(obligationEndsOn, federalExpiry(record))
}

/** A newspaper trial exempts nowhere: no rule is known that gives it months. */
function expiryAfter(
  { type, contactOn }: EbrTerms,
  monthsOf: (type: 'S' | 'I') => number,
): LocalDay {
  if (type === 'P') return neverExpires
  const months = type === 'T' ? 0 : monthsOf(type)
  return months > 0 ? addMonths(contactOn, months) : noExemption
}

/**
 * Whether a record already kept outlasts a new one: the later federal expiry ranks; on a tie the
 * later expiry in the number's regions, the strictest of them counting (spec, `keepBetterEBR`).
 */
export function outlasts(
  kept: EbrTerms,
  added: EbrTerms,
  place: { readonly regions: readonly string[]; readonly law: EbrLaw },
): boolean {
  const [keptUntil, addedUntil] = [federalExpiry(kept), federalExpiry(added)]
  if (keptUntil !== addedUntil) return keptUntil > addedUntil
  const strictest = (record: EbrTerms) =>
    Math.min(...place.regions.map((region) => expiryIn(record, region, place.law)))
  return strictest(kept) > strictest(added)
}
