/**
 * The texts of a scrub row that clients parse, `CarrierInfo` and `Reason`, whose four parts are separated by semicolons (national
 * list, state list, telephone preference service, wireless mark), and what explains a verdict. Pure.
 */
import type { EbrType, ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { Country, LineClass, NumberFacts, OriginalCarrier } from '../../domain/place.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import type { OptOutEffect, RelationshipFinding } from '../../law/records/relationship.js'
import type { ListEvidence, ListFinding, StateFinding } from '../lists/list-facts.js'

export const recordNames: Readonly<Record<EbrType, string>> = {
  S: 'sale',
  I: 'inquiry',
  P: 'permission',
  T: 'trial',
}

/** Describes the effect of an opt-out on a record, human-readable. */
export function formatOptOutEffect(type: EbrType, { effect, optedOutAt }: OptOutEffect): string {
  const optOut = `the opt-out of ${formatDay(toUtcDay(optedOutAt))}`
  const record = `the ${recordNames[type]} record on file`
  if (effect === 'ended') return `${optOut} ended ${record}`
  return `${record} was stored with a key that may not lift opt-outs, or only a second person may, so it does not lift ${optOut}`
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

const carrierTypes: Readonly<Record<LineClass, string>> = {
  wireless: 'WIRELESS',
  wireline: 'WIRELINE',
  voip: 'VOIP',
  unknown: '',
}

/** `OCN;TYPE;"name:name"` of the original company; empty when it is unknown. */
export function formatCarrier(carrier: OriginalCarrier | undefined, lineClass: LineClass): string {
  if (!carrier) return ''
  const name = carrier.company.replaceAll(/[";]/g, ' ').trim()
  return `${carrier.ocn};${carrierTypes[lineClass]};"${name}:${name}"`
}

export type InServiceFacts = NumberFacts & { readonly status: 'ok' }

/** The findings of lists, records and law for one number. */
export interface Findings {
  readonly records: RelationshipFinding
  readonly national: ListFinding
  readonly state: StateFinding
  readonly litigator: ListFinding
  /** The ported-number lists that determine the line class, in addition to the numbering plan. */
  readonly ported: ListEvidence
  /** The region and citation of a ban on sales calls to mobile numbers. */
  readonly wirelessBan: string | undefined
}

const bannedLetters: ReadonlySet<ResultLetter> = new Set(['L', 'F', 'V'])

/**
 * An unusable do-not-call list that the letter depends on comes first. The litigator list is left out,
 * since the gate checks it separately (spec, "Litigator check"). A `letter` adds the rules that it rests on.
 */
export function buildDetail(
  { national, state, records, wirelessBan }: Findings,
  { lineClass, originalClass }: InServiceFacts,
  letter: ResultLetter | undefined,
): Pick<ScrubVerdict, 'detail' | 'listProblem'> {
  for (const list of [national, state]) {
    if (list.status !== 'not-covered') continue
    const { detail, isStale, isUnusable } = list
    return { detail, listProblem: isStale ? 'stale' : isUnusable ? 'unreadable' : undefined }
  }
  const details: string[] = []
  const { ebrType, optOut } = records
  if (letter !== undefined && bannedLetters.has(letter)) details.push(`ban: ${wirelessBan}`)
  if (optOut && ebrType !== '') details.push(formatOptOutEffect(ebrType, optOut))
  const end = letter === undefined ? undefined : formatRelationshipEnd(records)
  if (end !== undefined) details.push(end)
  if (lineClass === 'unknown') {
    const isInDoubt = originalClass !== 'unknown'
    const why = isInDoubt ? ': a list of ported numbers is too old or cannot be read' : ''
    details.push(`line class unknown, treated as wireless${why}`)
  }
  return { detail: details.length === 0 ? undefined : details.join('; ') }
}

/** Until when a sale or an inquiry exempts and by which rule; `undefined` if no such rule decides. */
function formatRelationshipEnd({
  ebrType,
  relationship,
  expiresOn,
  endsBy,
  optOut,
}: RelationshipFinding): string | undefined {
  if (ebrType === '' || endsBy === undefined || optOut?.effect === 'ended') return undefined
  const name = `the ${recordNames[ebrType]} record on file`
  if (expiresOn === undefined) return `${name} never exempts: ${endsBy}`
  const verb = relationship === 'current' ? 'exempts until' : 'no longer exempts since'
  return `${name} ${verb} ${formatDay(expiresOn)}: ${endsBy}`
}
