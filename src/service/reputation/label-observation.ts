/** Computes what one check of a number changes. Pure; its SQL is in `label-check-rows.ts`. */

import type { Selectable } from 'kysely'
import type { LabelIssuer, NumberLabels } from '../../domain/spam-labels.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { MonitoredNumberRow } from '../../storage/tables.js'
import { fromSourceBits, type LabelBits, toLabelBits, toSourceBits } from './label-bits.js'
import { computeCurrentScore } from './number-record.js'

/** The answers of the latest stored observation, and since when they have been the same. */
export interface ObservationSpan extends LabelBits {
  readonly firstAt: Instant
  readonly complete: boolean
}

export interface LabelCheckInput {
  readonly at: Instant
  readonly labels: NumberLabels
  /** The sources that were asked: all those of the account's country. */
  readonly sources: readonly LabelIssuer[]
}

export interface LabelCheckOutcome {
  /** The observation to store: it extends the latest span or starts a new one. */
  readonly span: ObservationSpan | undefined
  readonly changes: Partial<Selectable<MonitoredNumberRow>>
  /** Sources that labeled the number in their previous answer but no longer do. */
  readonly removedFlags: readonly LabelIssuer[]
  readonly complete: boolean
}

/** A span ends after this time even without changes, so that old observations can be deleted. */
const maxSpanMs = 7 * msPerDay

type LabelColumns = Pick<Selectable<MonitoredNumberRow>, 'heard' | 'flagged'>

/** A check that no source answered changes nothing. */
export function computeOutcome(
  standing: LabelColumns,
  span: ObservationSpan | undefined,
  { at, labels, sources }: LabelCheckInput,
): LabelCheckOutcome {
  const heard = toLabelBits(labels, sources)
  if (heard.answered === 0)
    return { span: undefined, changes: {}, removedFlags: [], complete: false }
  const wanted = toSourceBits(sources)
  const complete = heard.answered === wanted
  const now = {
    heard: standing.heard | heard.answered,
    flagged: (standing.flagged & ~heard.answered) | heard.flagged,
  }
  const score = computeCurrentScore(now, wanted)
  const kept = extendSpan(span, { ...heard, firstAt: at, complete })
  return {
    span: kept,
    changes: {
      ...now,
      span_at: kept.firstAt,
      ...(complete && { checked_at: at }),
      ...(score === 'Medium' && { medium_at: at }),
      ...(score === 'High' && { high_at: at }),
    },
    removedFlags: fromSourceBits(standing.flagged & heard.answered & ~heard.flagged),
    complete,
  }
}

function extendSpan(before: ObservationSpan | undefined, look: ObservationSpan): ObservationSpan {
  const goesOn =
    before !== undefined &&
    before.answered === look.answered &&
    before.flagged === look.flagged &&
    before.complete === look.complete &&
    look.firstAt - before.firstAt < maxSpanMs
  return goesOn ? before : look
}
