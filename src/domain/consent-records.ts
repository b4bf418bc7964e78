/**
 * Relationship and consent records (spec, "Existing business relationship and consent") as they are
 * looked at and taken out of force.
 */
import type { EbrType } from './compliance.js'

export interface ConsentRecordsRequest {
  /** 10 digits each; whatever else is refused by the subject. */
  readonly numbers: readonly string[]
  /** Whose records; the Master Project's when absent. */
  readonly projectId?: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
}

/** A record in force, expired or not, as it was reported. Days are `YYYY-MM-DD`. */
export interface ConsentRecord {
  readonly phoneNumber: string
  readonly type: EbrType
  /** A day, or a UTC instant where a time was given. */
  readonly dateOfLastContact: string
  readonly dateObligationEnds: string | null
  readonly referenceNum: string | null
  readonly brand: string | null
  readonly email: string | null
  /** UTC instant of the report. */
  readonly recordedOn: string
  /** Id of the key that stored it, or `import:<source>`; null where that was not kept yet. */
  readonly recordedBy: string | null
}
