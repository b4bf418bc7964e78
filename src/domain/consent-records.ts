/**
 * Relationship and consent records (spec, "Existing business relationship and consent") as listed and
 * removed.
 */
import type { EbrType } from './compliance.js'

export interface ConsentRecordsRequest {
  /** 10 digits each; the service refuses anything else. */
  readonly numbers: readonly string[]
  /** Project of the records; absent means the Master Project. */
  readonly projectId?: string | undefined
  /** Implies its project. */
  readonly campaignId?: string | undefined
}

/** A current record, expired or not, as reported. Days are `YYYY-MM-DD`. */
export interface ConsentRecord {
  readonly phoneNumber: string
  readonly type: EbrType
  /** A day, or a UTC instant if a time was given. */
  readonly dateOfLastContact: string
  readonly dateObligationEnds: string | null
  readonly referenceNum: string | null
  readonly brand: string | null
  readonly email: string | null
  /** UTC instant of the report. */
  readonly recordedOn: string
  /** Id of the key that stored it, or `import:<source>`; null for records from before this was stored. */
  readonly recordedBy: string | null
}

/** How an opt-out was heard, kept beside the entry of the list as evidence. */
export interface OptOutStatement {
  /** Of the call in which it was heard. The same words about it are the same opt-out, however often they are sent. */
  readonly decisionId?: string | undefined
  /** The sender's id of what it was heard in, for a call without a decision. */
  readonly reference?: string | undefined
  /** The words of the person. */
  readonly said?: string | undefined
  /** Where they were heard, such as `transcript`. */
  readonly source: string
}
