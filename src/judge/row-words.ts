/** What explains a scrub row: its `Reason`, whose four parts are separated by semicolons, and the rules that its letter rests on. */
import type { CallRow, EbrType, ResultLetter } from '../domain/compliance.js'
import type { Country, NumberInService } from '../domain/place.js'
import type { LocalDay } from '../domain/time/clock.js'
import { formatDay, toUtcDay } from '../domain/time/dates.js'
import type { Said } from '../domain/words/words.js'
import type { OptOutEffect, RelationshipFinding } from '../law/records/relationship.js'
import type { ListFindings } from './facts.js'

/** The effect of an opt-out on a record. */
export function sayOptOutEffect(record: EbrType, { effect, optedOutAt }: OptOutEffect): Said {
  const params = { record, on: formatDay(toUtcDay(optedOutAt)) }
  return { code: effect === 'ended' ? 'opt-out-ended-record' : 'opt-out-still-applies', params }
}

/** `Reason` values without parts; clients look for these exact words. */
const litigatorReason = 'Litigator'

export const malformedReason = 'not a valid number'

export interface ReasonInput {
  readonly letter: ResultLetter
  readonly isLitigator: boolean
  readonly country: Country
  /**
   * The day on which the number was listed, or the as-of day of a list that keeps none; absent if the
   * number is not listed.
   */
  readonly nationalOn: LocalDay | undefined
  readonly state: { readonly region: string; readonly on: LocalDay } | undefined
  readonly isWireless: boolean
}

/** Letters for which no list was looked up, or only the internal list. */
const withoutReason: ReadonlySet<ResultLetter> = new Set(['M', 'I', 'B', 'P'])

/** `National (USA) 2026-01-31;State (TX) 2026-01-31;;W`; empty parts stay empty. */
export function formatReason(facts: ReasonInput): string {
  // With an unusable national list (letter B), a litigator is still reported.
  const saysNothing = withoutReason.has(facts.letter) && facts.letter !== 'B'
  if (facts.isLitigator && !saysNothing) return litigatorReason
  if (withoutReason.has(facts.letter)) return ''
  const { country, nationalOn, state } = facts
  const countryName = country === 'US' ? 'USA' : 'CAN'
  const national =
    nationalOn === undefined ? '' : `National (${countryName}) ${formatDay(nationalOn)}`
  const ofState = state ? `State (${state.region}) ${formatDay(state.on)}` : ''
  return [national, ofState, '', facts.isWireless ? 'W' : ''].join(';')
}

/** The findings of lists, records and law for one number. */
export interface RowFindings extends ListFindings {
  readonly records: RelationshipFinding
  /** A ban on sales calls to mobile numbers. */
  readonly wirelessBan: { readonly region: string; readonly citation: string } | undefined
}

const bannedLetters: ReadonlySet<ResultLetter> = new Set(['L', 'F', 'V'])

/**
 * An unusable do-not-call list that the letter depends on comes first. The litigator list is left out,
 * since the gate checks it separately (spec, "Litigator check"). A `letter` adds the rules that it rests on.
 */
export function explainLetter(
  { national, state, records, wirelessBan }: RowFindings,
  { lineClass, originalClass }: NumberInService,
  letter?: ResultLetter,
): Pick<CallRow, 'says' | 'listProblem'> {
  for (const list of [national, state]) {
    if (list.status !== 'not-covered') continue
    const { says, isStale, isUnusable } = list
    return { says, listProblem: isStale ? 'stale' : isUnusable ? 'unreadable' : undefined }
  }
  const says: Said[] = []
  const { ebrType, optOut } = records
  if (wirelessBan && letter !== undefined && bannedLetters.has(letter)) {
    says.push({ code: 'wireless-ban', params: wirelessBan })
  }
  if (optOut && ebrType !== '') says.push(sayOptOutEffect(ebrType, optOut))
  const end = letter === undefined ? undefined : sayRelationshipEnd(records)
  if (end) says.push(end)
  if (lineClass === 'unknown') {
    says.push({ code: originalClass === 'unknown' ? 'line-unknown' : 'line-in-doubt' })
  }
  return { says }
}

/** Until when a sale or an inquiry exempts and by which rule; `undefined` if no such rule decides. */
function sayRelationshipEnd({
  ebrType,
  relationship,
  expiresOn,
  endsBy,
  optOut,
}: RelationshipFinding): Said | undefined {
  if (ebrType === '' || endsBy === undefined || optOut?.effect === 'ended') return undefined
  const rule = { record: ebrType, ...endsBy }
  if (expiresOn === undefined) return { code: 'record-never-exempts', params: rule }
  const params = { ...rule, on: formatDay(expiresOn) }
  return relationship === 'current'
    ? { code: 'record-exempts-until', params }
    : { code: 'record-exempts-no-longer', params }
}
