/**
 * From labels to scores (docs/adr, "Scores of a number"). Pure: what a number is worth by the share
 * of sources that label it now, at its worst within 15 days, and over all looks that are kept.
 */
import type { Instant } from '../../domain/clock.js'
import { apps, type LabelSource, type NumberLabels } from '../../domain/labels.js'

export type Level = 'Clean' | 'Medium' | 'High'
/** `Processing`: not known yet (spec, "Monitored-number record"). */
export type Score = Level | 'Processing'
export type HistoricalScore = '0' | '1' | '2' | '3' | '4' | '5'
export type Country = 'US' | 'CA'

/** Spec, "Flags-removed summary": no CarrierB for Canadian accounts, no CarrierD for US ones. */
const carriersByCountry = {
  US: ['CarrierA', 'CarrierB', 'CarrierC'],
  CA: ['CarrierA', 'CarrierC', 'CarrierD'],
} as const satisfies Record<Country, readonly LabelSource[]>

const sourcesByCountry: Readonly<Record<Country, readonly LabelSource[]>> = {
  US: [...carriersByCountry.US, ...apps],
  CA: [...carriersByCountry.CA, ...apps],
}

/** The carriers that label the numbers of an account. */
export function carriersOf(country: Country): readonly LabelSource[] {
  return carriersByCountry[country]
}

/** Every source that labels the numbers of an account: its carriers and the apps. */
export function sourcesOf(country: Country): readonly LabelSource[] {
  return sourcesByCountry[country]
}

/** The level of one look, by how many sources answered and how many of those labelled the number. */
export function levelOf(labelled: number, answered: number): Score {
  if (answered === 0) return 'Processing'
  if (labelled === 0) return 'Clean'
  return labelled * 2 >= answered ? 'High' : 'Medium'
}

/** The level of one look, by those of `sources` that answered; `Processing` when none did. */
export function scoreOfLook(labels: NumberLabels, sources: readonly LabelSource[]): Score {
  const answers = sources.map((source) => labels[source]).filter((label) => label !== undefined)
  return levelOf(answers.filter((labelled) => labelled).length, answers.length)
}

/** Spec, "Limits": the window of MaxScore. A look exactly that long ago is in it. */
const maxScoreWindowMs = 15 * 86_400_000

export interface LevelHistory {
  readonly current: Score
  /** When the level was last Medium, and last High; null is never. */
  readonly mediumAt: Instant | null
  readonly highAt: Instant | null
}

/**
 * The highest level of the last 15 days. The current one belongs to them however long ago it was
 * learned: it holds until a source says otherwise.
 */
export function maxScore(now: Instant, { current, mediumAt, highAt }: LevelHistory): Score {
  if (current === 'Processing') return current
  const within = (at: Instant | null) => at !== null && at >= now - maxScoreWindowMs
  if (current === 'High' || within(highAt)) return 'High'
  return current === 'Medium' || within(mediumAt) ? 'Medium' : 'Clean'
}

/** Complete looks, and how many of them gave Medium and High. */
export interface LookCounts {
  readonly looks: number
  readonly medium: number
  readonly high: number
}

/** Spec: 0 and 1 mean no issues, 5 that half or more of the looks were High. */
export function historicalScore({ looks, medium, high }: LookCounts): HistoricalScore {
  if (high > 0) {
    if (high * 2 >= looks) return '5'
    return high * 4 >= looks ? '4' : '3'
  }
  if (medium > 0) return medium * 10 >= looks ? '2' : '1'
  return '0'
}
