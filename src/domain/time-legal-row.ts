/** IsTimeLegalToCall in our own names: what its items hold and what its rows say. */
import type { LegalTimeStatus } from './compliance.js'

/** One item as received: a value of the wrong type is the row's status, never an error. */
export interface TimeLegalItem {
  readonly phoneNumber: unknown
  readonly proposedAt: unknown
  readonly projectId: unknown
}

/** Spec, "Time-legal result row". */
export interface TimeLegalRow {
  /** As received; text of the value where that is no text. */
  readonly phoneNumber: string
  readonly permitted: boolean
  /** 0 when not permitted. */
  readonly secondsLeft: number
  readonly status: LegalTimeStatus
  /** `null` exactly when the status is `OK`. */
  readonly message: string | null
}
