/** What several rules need of our own facts: the row of a scrub. */
import type { CallRow } from '../domain/compliance.js'
import type { Instant } from '../domain/time/clock.js'
import type { PermissionFacts } from './facts.js'
import type { NumberCall } from './number-call.js'
import { evaluateRow, findRowOpening } from './row.js'

export interface OwnRow {
  readonly row: CallRow
  readonly asOf: Instant
  readonly holdsUntil: Instant
}

export function deriveRow(
  { law, windows, at, now, sources: { own } }: NumberCall,
  facts: PermissionFacts,
): OwnRow {
  const { number, postal, postalCode, ported, asOf } = own
  const query = { number, facts, ported, postalCode, postal, now, at }
  const rules = { law, windows }
  const { row, holdsUntil, located } = evaluateRow(query, rules)
  const opensLater = located !== undefined && !located.isTimely
  return {
    row: opensLater ? { ...row, opensAt: findRowOpening(query, located, rules) } : row,
    asOf,
    holdsUntil,
  }
}
