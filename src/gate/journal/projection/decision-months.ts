/** The months of decisions. An id begins with its instant, so that those of a month are a range of texts. */
import type { Instant } from '../../../domain/time/clock.js'
import {
  addMonths,
  formatDay,
  msPerDay,
  toCalendarDate,
  toUtcDay,
} from '../../../domain/time/dates.js'

/** In UTC. */
export interface DecisionMonth {
  /** Such as `2026_11`. */
  readonly name: string
  readonly start: Instant
  /** The start of the next month. */
  readonly end: Instant
}

/** `undefined` if it is not the id of a decision. */
export function readIdInstant(id: string): Instant | undefined {
  return /^[0-9a-z]{9}[0-9a-f]{20}$/.test(id) ? Number.parseInt(id.slice(0, 9), 36) : undefined
}

/** The ids of all decisions from an instant on are not less than this. */
export const toIdPrefix = (at: Instant): string => at.toString(36).padStart(9, '0')

export function monthOf(at: Instant): DecisionMonth {
  const day = toUtcDay(at)
  const first = day - toCalendarDate(day).day + 1
  return {
    name: formatDay(first).slice(0, 7).replace('-', '_'),
    start: first * msPerDay,
    end: addMonths(first, 1) * msPerDay,
  }
}
