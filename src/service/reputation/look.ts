/** What one look at a number changes. Pure; the rows it is read from and written to are beside it. */
import type { Selectable } from 'kysely'
import type { Instant } from '../../domain/clock.js'
import type { LabelSource, NumberLabels } from '../../domain/labels.js'
import type { MonitoredNumberRow } from '../../storage/tables.js'
import { bitsOf, type Heard, heardOf, sourcesIn } from './label-bits.js'
import { currentScore } from './number-record.js'

/** What the latest kept look heard, and since when that is so; null before the first. */
export interface Span extends Heard {
  readonly firstAt: Instant
  readonly complete: boolean
}

export interface Look {
  readonly at: Instant
  readonly labels: NumberLabels
  /** Those that were asked: every source of the account's country. */
  readonly sources: readonly LabelSource[]
}

export interface LookOutcome {
  /** The look as it is kept: one more of a span that goes on, or the first of a new one. */
  readonly span: Span | undefined
  readonly changes: Partial<Selectable<MonitoredNumberRow>>
  /** Sources that labelled the number when they were heard before, and now do not. */
  readonly lifted: readonly LabelSource[]
  readonly complete: boolean
}

/** A span ends after that long even when nothing changes, so that old looks can be dropped. */
const longestSpanMs = 7 * 86_400_000

type Standing = Pick<Selectable<MonitoredNumberRow>, 'heard' | 'flagged'>

/** A look at which no source answered leaves everything as it was. */
export function outcomeOf(
  standing: Standing,
  span: Span | undefined,
  { at, labels, sources }: Look,
): LookOutcome {
  const heard = heardOf(labels, sources)
  if (heard.answered === 0) return { span: undefined, changes: {}, lifted: [], complete: false }
  const wanted = bitsOf(sources)
  const complete = heard.answered === wanted
  const now = {
    heard: standing.heard | heard.answered,
    flagged: (standing.flagged & ~heard.answered) | heard.flagged,
  }
  const score = currentScore(now, wanted)
  const kept = spanFor(span, { ...heard, firstAt: at, complete })
  return {
    span: kept,
    changes: {
      ...now,
      span_at: kept.firstAt,
      ...(complete && { checked_at: at }),
      ...(score === 'Medium' && { medium_at: at }),
      ...(score === 'High' && { high_at: at }),
    },
    lifted: sourcesIn(standing.flagged & heard.answered & ~heard.flagged),
    complete,
  }
}

function spanFor(before: Span | undefined, look: Span): Span {
  const goesOn =
    before !== undefined &&
    before.answered === look.answered &&
    before.flagged === look.flagged &&
    before.complete === look.complete &&
    look.firstAt - before.firstAt < longestSpanMs
  return goesOn ? before : look
}
