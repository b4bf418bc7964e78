/** Which rows about a number an erasure handles, and the result for each kind of row. */
import type { Instant } from '../../domain/time/clock.js'

export interface RowErasure {
  /** Ten digits. */
  readonly number: string
  /** `undefined` for all accounts. */
  readonly accountId: string | undefined
  readonly at: Instant
  /** How long the law asks for records of calls. */
  readonly keepYears: number
}

/** The result for rows of one kind. Never contains the number. */
export interface ErasedRows {
  readonly what: string
  readonly count: number
  readonly result: 'deleted' | 'reduced' | 'kept'
  /** Of kept and reduced rows: until when, and why. */
  readonly why?: string
}
