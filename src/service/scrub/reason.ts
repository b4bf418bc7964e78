/**
 * The texts of a scrub row that clients take apart: `Reason` in four parts separated by semicolons
 * (national list, state list, telephone preference service, wireless mark) and `CarrierInfo`. Pure.
 */
import { formatDay, type Instant } from '../../domain/clock.js'
import type { ResultLetter } from '../../domain/compliance.js'
import type { Country, LineClass, OriginalCarrier } from '../../domain/place.js'

/** The one reason without parts. */
const litigatorReason = 'Litigator'

export interface ReasonFacts {
  readonly letter: ResultLetter
  readonly isLitigator: boolean
  readonly country: Country
  /** As-of instants of the lists the number is on; absent when it is not on one. */
  readonly nationalAsOf: Instant | undefined
  readonly state: { readonly region: string; readonly asOf: Instant } | undefined
  readonly isWireless: boolean
}

/** Letters for which nothing was looked up, or nothing further than the own list. */
const withoutReason: ReadonlySet<ResultLetter> = new Set(['M', 'I', 'B', 'P'])

/** `National (USA) 2026-01-31;State (TX) 2026-01-31;;W`; empty parts stay empty. */
export function reasonText(facts: ReasonFacts): string {
  if (withoutReason.has(facts.letter)) return ''
  if (facts.isLitigator) return litigatorReason
  const { country, nationalAsOf, state } = facts
  const countryName = country === 'US' ? 'USA' : 'CAN'
  const national =
    nationalAsOf === undefined ? '' : `National (${countryName}) ${day(nationalAsOf)}`
  const ofState = state ? `State (${state.region}) ${day(state.asOf)}` : ''
  return [national, ofState, '', facts.isWireless ? 'W' : ''].join(';')
}

function day(at: Instant): string {
  return formatDay(Math.floor(at / 86_400_000))
}

const carrierTypes: Readonly<Record<LineClass, string>> = {
  wireless: 'WIRELESS',
  wireline: 'WIRELINE',
  voip: 'VOIP',
  unknown: '',
}

/** `OCN;TYPE;"name:name"` of the original company; empty when it is unknown. */
export function carrierText(carrier: OriginalCarrier | undefined, lineClass: LineClass): string {
  if (!carrier) return ''
  const name = carrier.company.replaceAll(/[";]/g, ' ').trim()
  return `${carrier.ocn};${carrierTypes[lineClass]};"${name}:${name}"`
}
