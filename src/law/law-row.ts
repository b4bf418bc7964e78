import type { DayRange } from '../domain/time/dates.js'

/** What every row of the calling rules has: the local days on which it holds, its source, and how certain that is. */
export interface LawRow extends DayRange {
  readonly citation: string
  readonly confidence: string
  readonly notes?: string | undefined
}

/** A row that decisions and settings name. */
export interface NamedRow extends LawRow {
  readonly id: string
}
