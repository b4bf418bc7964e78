/** Warnings about stored records that have no effect. Pure. */

import type { CandidatePlace } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import { nameRecord } from '../../domain/words/scrub.js'
import { describeSaid } from '../../domain/words/words.js'
import { sayOptOutEffect } from '../../judge/row-words.js'
import type { EbrLaw } from '../../law/records/ebr-expiry.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import type { InternalDncEntry } from '../../law/records/opt-out.js'
import { evaluateRelationship } from '../../law/records/relationship.js'

export interface EbrWarningInput {
  /** The record now in force for the number. */
  readonly record: EbrRecord
  /** The number's entry on the project's internal list. */
  readonly entry: InternalDncEntry | undefined
  /** Every place the called party may be in; empty if the numbering plan knows none. */
  readonly places: readonly CandidatePlace[]
  readonly at: Instant
  readonly law: EbrLaw
}

/** The warning; `undefined` for a record that has its effect. */
export function describeEbrWarning(stored: EbrWarningInput): string | undefined {
  const { record, entry } = stored
  const { optOut, relationship, expiresOn } = evaluateRelationship(stored)
  if (optOut) return describeSaid([sayOptOutEffect(record.type, optOut)])
  const name = nameRecord(record.type)
  if (entry?.removedAt === null && record.type !== 'P') {
    return `the ${name} record does not override the opt-out: only a permission record (type P) does`
  }
  if (relationship !== 'expired') return undefined
  return expiresOn === undefined
    ? `the ${name} record has no effect: the state of the number does not honor this type`
    : `the ${name} record has no effect: it expired on ${formatDay(expiresOn)}`
}
