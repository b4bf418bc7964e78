/**
 * How long an existing business relationship or a permission overrides a do-not-call match. Pure; the
 * months that a region honors are passed in from the calling rules.
 */
import type { ConsentTerms, EbrType } from '../../domain/compliance.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { addMonths, toUtcDay } from '../../domain/time/dates.js'
import { toLocalTime } from '../../domain/time/time-zones.js'
import type { EbrRule } from '../calling-rules.js'

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

type EbrMonths = Pick<EbrRule, 'S' | 'I' | 'obligationExempts' | 'citation' | 'until'>

/** The part of the calling rules that expiry needs. */
export interface EbrLaw {
  /** `undefined` for an unknown region, which honors none. */
  findEbrRule(region: string, day: LocalDay): EbrMonths | undefined
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

/** A region, and the local day there from which on its law is asked. */
export interface RegionDay {
  readonly region: string
  readonly day: LocalDay
}

/**
 * Like {@link computeFederalExpiry}, but under the law of the called party's region: by the row of a day and, if the record
 * exempts beyond the last day of that row, by those after it.
 */
export function computeRegionalExpiry(
  record: EbrTerms,
  { region, day }: RegionDay,
  law: EbrLaw,
): LocalDay {
  const rule = record.type === 'P' ? undefined : law.findEbrRule(region, day)
  const byMonths = computeExpiry(record, (type) => rule?.[type] ?? 0)
  const expiry = Math.max(byMonths, computeObligationExpiry(record, rule))
  if (rule?.until === undefined || expiry <= rule.until + 1) return expiry
  const turn = { region, day: rule.until + 1 }
  return Math.max(turn.day, computeRegionalExpiry(record, turn, law))
}

/** Whether the record exempts on a local day; it no longer does on its expiry day. */
export function isExemptOn(expiry: LocalDay, day: LocalDay): boolean {
  return day < expiry
}

/** Only a sale can have an open obligation, and the federal limit still applies. */
function computeObligationExpiry(record: EbrTerms, rule: EbrMonths | undefined): LocalDay {
  const { type, obligationEndsOn } = record
  if (type !== 'S' || obligationEndsOn === undefined) return neverExempt
  if (!rule?.obligationExempts) return neverExempt
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
    Math.min(
      ...places.map(({ region }, index) =>
        computeRegionalExpiry(record, { region, day: days[index] ?? today }, law),
      ),
    )
  return strictest(kept) > strictest(added)
}
