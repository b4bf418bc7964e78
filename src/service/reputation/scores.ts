/**
 * Computes scores from labels (docs/adr, "Scores of a number"): the current level from the share of
 * sources that label the number, the highest level within 15 days, and the historical score from all
 * stored observations. Pure.
 */

import type { Country } from '../../domain/place.js'
import type { HistoricalScore, Score } from '../../domain/reputation.js'
import { apps, type LabelIssuer } from '../../domain/spam-labels.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'

/** Spec, "Flags-removed summary": no CarrierB for Canadian accounts, no CarrierD for US ones. */
const carriersByCountry = {
  US: ['CarrierA', 'CarrierB', 'CarrierC'],
  CA: ['CarrierA', 'CarrierC', 'CarrierD'],
} as const satisfies Record<Country, readonly LabelIssuer[]>

const sourcesByCountry: Readonly<Record<Country, readonly LabelIssuer[]>> = {
  US: [...carriersByCountry.US, ...apps],
  CA: [...carriersByCountry.CA, ...apps],
}

/** The carriers that label the numbers of an account. */
export function listCarriers(country: Country): readonly LabelIssuer[] {
  return carriersByCountry[country]
}

/** Every source that labels the numbers of an account: its carriers and the apps. */
export function listSources(country: Country): readonly LabelIssuer[] {
  return sourcesByCountry[country]
}

/** The level of one observation, from the counts of sources that answered and that label the number. */
export function computeLevel(labeled: number, answered: number): Score {
  if (answered === 0) return 'Processing'
  if (labeled === 0) return 'Clean'
  return labeled * 2 >= answered ? 'High' : 'Medium'
}

/** Spec, "Limits": the window of MaxScore, inclusive. */
const maxScoreWindowMs = 15 * msPerDay

export interface LevelHistory {
  readonly current: Score
  /** When the level was last Medium and last High; null means never. */
  readonly mediumAt: Instant | null
  readonly highAt: Instant | null
}

/**
 * The highest level of the last 15 days. The current level is included, however old it is, since it
 * applies until a source reports another.
 */
export function computeMaxScore(now: Instant, { current, mediumAt, highAt }: LevelHistory): Score {
  if (current === 'Processing') return current
  const within = (at: Instant | null) => at !== null && at >= now - maxScoreWindowMs
  if (current === 'High' || within(highAt)) return 'High'
  return current === 'Medium' || within(mediumAt) ? 'Medium' : 'Clean'
}

/** Complete observations, and how many of them were Medium and High. */
export interface ObservationCounts {
  readonly observations: number
  readonly medium: number
  readonly high: number
}

/** Spec: 0 and 1 mean no issues, 5 that half or more of the observations were High. */
export function computeHistoricalScore({
  observations,
  medium,
  high,
}: ObservationCounts): HistoricalScore {
  if (high > 0) {
    if (high * 2 >= observations) return '5'
    return high * 4 >= observations ? '4' : '3'
  }
  if (medium > 0) return medium * 10 >= observations ? '2' : '1'
  return '0'
}
