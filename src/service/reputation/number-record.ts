/** Converts the row of a monitored number to its record (spec, "Monitored-number record"). */

import { type PhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type { LabelStatus, NumberRecord, Score } from '../../domain/reputation.js'
import type { Complaint, LabelIssuer } from '../../domain/spam-labels.js'
import type { Instant } from '../../domain/time/clock.js'
import { countSources, hasSource, toSourceBits } from './label-bits.js'
import type { MonitoredRow } from './monitored-rows.js'
import { computeHistoricalScore, computeLevel, computeMaxScore, listSources } from './scores.js'

/** Limits the size of an answer about numbers with many complaints. */
const maxComplaints = 25

export interface NumberRecordInput {
  readonly country: Country
  readonly now: Instant
  readonly complaints: ReadonlyMap<PhoneNumber, readonly Complaint[]>
}

export function toNumberRecord(row: MonitoredRow, facts: NumberRecordInput): NumberRecord {
  const phone = toPhoneNumber(row.number)
  const wanted = toSourceBits(listSources(facts.country))
  const current = computeCurrentScore(row, wanted)
  const { medium_at: mediumAt, high_at: highAt } = row
  const complaints = facts.complaints.get(phone)
  return {
    phone,
    scores: {
      legalEntityId: row.legal_entity_id,
      currScore: current,
      maxScore: computeMaxScore(facts.now, { current, mediumAt, highAt }),
      historicalScore: computeHistoricalScore({
        observations: row.looks,
        medium: row.medium_looks,
        high: row.high_looks,
      }),
      labels: {
        CarrierA: labelStatus(row, wanted, 'CarrierA'),
        CarrierB: labelStatus(row, wanted, 'CarrierB'),
        CarrierC: labelStatus(row, wanted, 'CarrierC'),
        AppA: labelStatus(row, wanted, 'AppA'),
        AppB: labelStatus(row, wanted, 'AppB'),
      },
      complaints: complaints && complaints.length > 0 ? complaints.slice(0, maxComplaints) : null,
    },
  }
}

type LabelColumns = Pick<MonitoredRow, 'heard' | 'flagged'>

/** The score by each source's latest answer; `Processing` until every wanted source has answered. */
export function computeCurrentScore({ heard, flagged }: LabelColumns, wanted: number): Score {
  if ((heard & wanted) !== wanted) return 'Processing'
  return computeLevel(countSources(flagged & wanted), countSources(wanted))
}

/** Also `Processing` for a source that is not used for the account. */
function labelStatus(
  { heard, flagged }: LabelColumns,
  wanted: number,
  source: LabelIssuer,
): LabelStatus {
  if (!hasSource(heard & wanted, source)) return 'Processing'
  return hasSource(flagged, source) ? 'Flagged' : 'Clean'
}
