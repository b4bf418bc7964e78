/** What the calls show of a monitored number, from its row (spec, "Monitored-number record"). */
import type { Instant } from '../../domain/clock.js'
import type { Complaint, LabelSource } from '../../domain/labels.js'
import { type PhoneNumber, phoneNumber } from '../../domain/phone-number.js'
import { bitsOf, countSources, hasSource } from './label-bits.js'
import type { MonitoredRow } from './monitored-rows.js'
import {
  type Country,
  type HistoricalScore,
  historicalScore,
  levelOf,
  maxScore,
  type Score,
  sourcesOf,
} from './scores.js'

export type LabelStatus = 'Clean' | 'Flagged' | 'Processing'

/** The sources the record has a field for; CarrierD has none. */
export const shownSources = ['CarrierA', 'CarrierB', 'CarrierC', 'AppA', 'AppB'] as const
export type ShownSource = (typeof shownSources)[number]

/** As in a scan: a much-complained number would otherwise make answers of any size. */
const mostComplaints = 25

export interface NumberScores {
  readonly legalEntityId: number | null
  readonly currScore: Score
  readonly maxScore: Score
  readonly historicalScore: HistoricalScore
  readonly labels: Readonly<Record<ShownSource, LabelStatus>>
  /** The newest, newest first; null when there are none. */
  readonly complaints: readonly Complaint[] | null
}

export interface NumberRecord {
  readonly phone: PhoneNumber
  /** Absent when the account does not monitor the number. */
  readonly scores?: NumberScores | undefined
}

export interface RecordFacts {
  readonly country: Country
  readonly now: Instant
  readonly complaints: ReadonlyMap<PhoneNumber, readonly Complaint[]>
}

export function recordOf(row: MonitoredRow, facts: RecordFacts): NumberRecord {
  const phone = phoneNumber(row.number)
  const wanted = bitsOf(sourcesOf(facts.country))
  const current = currentScore(row, wanted)
  const { medium_at: mediumAt, high_at: highAt } = row
  const complaints = facts.complaints.get(phone)
  return {
    phone,
    scores: {
      legalEntityId: row.legal_entity_id,
      currScore: current,
      maxScore: maxScore(facts.now, { current, mediumAt, highAt }),
      historicalScore: historicalScore({
        looks: row.looks,
        medium: row.medium_looks,
        high: row.high_looks,
      }),
      labels: {
        CarrierA: statusOf(row, wanted, 'CarrierA'),
        CarrierB: statusOf(row, wanted, 'CarrierB'),
        CarrierC: statusOf(row, wanted, 'CarrierC'),
        AppA: statusOf(row, wanted, 'AppA'),
        AppB: statusOf(row, wanted, 'AppB'),
      },
      complaints: complaints && complaints.length > 0 ? complaints.slice(0, mostComplaints) : null,
    },
  }
}

type Standing = Pick<MonitoredRow, 'heard' | 'flagged'>

/** Known once every wanted source was heard; each then counts with what it said last. */
export function currentScore({ heard, flagged }: Standing, wanted: number): Score {
  if ((heard & wanted) !== wanted) return 'Processing'
  return levelOf(countSources(flagged & wanted), countSources(wanted))
}

/** A source that is not asked for the account has said nothing of its numbers. */
function statusOf({ heard, flagged }: Standing, wanted: number, source: LabelSource): LabelStatus {
  if (!hasSource(heard & wanted, source)) return 'Processing'
  return hasSource(flagged, source) ? 'Flagged' : 'Clean'
}
