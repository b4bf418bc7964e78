/** What several rules need of our own facts: the row of a scrub. */
import type { CallRow } from '../domain/compliance.js'
import type { Instant } from '../domain/time/clock.js'
import type { PermissionFacts } from './facts.js'
import type { NumberCall } from './number-call.js'
import {
  formatFacts,
  selectHours,
  toRecordedListing,
  toRecordedPlace,
  type UnusualFacts,
} from './recorded-facts.js'
import {
  evaluateRow,
  findListedDay,
  findRowOpening,
  type LocatedNumber,
  type RowCase,
} from './row.js'

export interface OwnRow {
  readonly row: CallRow
  readonly asOf: Instant
  readonly holdsUntil: Instant
  /** See {@link Finding.facts}. */
  readonly facts: string | undefined
}

export function deriveRow(
  { law, windows, at, now, sources: { own } }: NumberCall,
  facts: PermissionFacts,
): OwnRow {
  const { number, postal, postalCode, ported, asOf } = own
  const query = { number, facts, ported, postalCode, postal, now, at }
  const rules = { law, windows }
  const { row, holdsUntil, located } = evaluateRow(query, rules)
  if (located === undefined) return { row, asOf, holdsUntil, facts: undefined }
  return {
    row: located.isTimely ? row : { ...row, opensAt: findRowOpening(query, located, rules) },
    asOf,
    holdsUntil,
    facts: formatFacts(located.facts, listUnusualFacts(query, located)),
  }
}

/** What the record needs besides the facts about the number; `undefined` if there is nothing, as usual. */
function listUnusualFacts(
  { facts, postal, now }: RowCase,
  { found, everywhere, midnight, listsHoldUntil }: LocatedNumber,
): UnusualFacts | undefined {
  const { entry, record, industryExemption, voipRestricted } = facts
  const { national, state, litigator } = found
  const hours = facts.hours.length > 0 ? selectHours(facts.hours, everywhere) : undefined
  const isUsual =
    national.status === 'clear' &&
    state.status === 'clear' &&
    litigator.status !== 'listed' &&
    listsHoldUntil >= midnight &&
    (entry ?? record ?? postal ?? hours) === undefined &&
    !industryExemption &&
    !voipRestricted
  if (isUsual) return undefined
  return {
    postal: postal && toRecordedPlace(postal),
    hours,
    industryExemption: industryExemption || undefined,
    voipRestricted: voipRestricted || undefined,
    national: toRecordedListing(national, findListedDay(national)),
    state: toRecordedListing(state, findListedDay(state)),
    isLitigator: litigator.status === 'listed' || undefined,
    listsHoldUntil: listsHoldUntil < midnight ? listsHoldUntil : undefined,
    entry,
    record,
    now: record?.isFixed ? now : undefined,
  }
}
