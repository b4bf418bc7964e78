/** What is erased of a number in the database, and what became of it. */
import type { Instant } from '../../domain/time/clock.js'

export interface RowErasure {
  /** Ten digits. */
  readonly number: string
  /** `undefined` for all accounts. */
  readonly accountId: string | undefined
  readonly at: Instant
  /** How long the law asks for records of calls. */
  readonly keepYears: number
  /** For decisions of versions before the journal: the text without the number, or `undefined` to keep it. */
  readonly eraseDecision: (body: string) => string | undefined
}

/** What was done with rows of one kind. Never has the number. */
export interface ErasedRows {
  readonly what: string
  readonly count: number
  readonly result: 'deleted' | 'reduced' | 'kept'
  /** Of kept and reduced rows: until when, and why. */
  readonly why?: string
}
