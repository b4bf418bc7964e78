/** The row types of tables `change_requests` and `people`; `tables.ts` says how values are stored. */
import type { ChangeKind, ChangeState } from '../domain/mandate.js'

/** A change that one person has asked for and another one must approve. */
export interface ChangeRequestRow {
  id: string
  account_id: string
  kind: ChangeKind
  /** In words, without numbers of persons. */
  what: string
  /** Which carries it out when it is approved; null if who asked does it again. */
  endpoint: string | null
  /** Of the endpoint, as JSON; null once it is over. */
  request: string | null
  /** SHA-256, in hex. */
  request_hash: string
  reason: string | null
  /** As in the audit table; `asked_id` is what callers are told apart by. */
  asked_by: string
  asked_id: string
  asked_at: number
  /** Number of the newest change of an opt-out or consent at that time. */
  asked_seq: number
  expires_at: number
  state: Exclude<ChangeState, 'expired'>
  decided_by: string | null
  decided_at: number | null
  note: string | null
  problem: string | null
}

/** Somebody who has signed in without a key. */
export interface PersonRow {
  /** `person:<issuer> <subject>`. */
  id: string
  account_id: string
  role: string
  /** In lower case; null unless the issuer says that it is verified. */
  email: string | null
  /** When they first signed in with this role; a higher role begins anew. */
  able_since: number
}
