/**
 * The texts of a scrub row that clients take apart: `Reason` in four parts separated by semicolons
 * (national list, state list, telephone preference service, wireless mark) and `CarrierInfo`. Pure.
 */
import { formatDay, type LocalDay } from '../../domain/clock.js'
import type { ResultLetter } from '../../domain/compliance.js'
import type { Country, LineClass, OriginalCarrier } from '../../domain/place.js'

/** The reasons without parts: clients look for these words. */
const litigatorReason = 'Litigator'
export const malformedReason = 'not a valid number'

export interface ReasonFacts {
  readonly letter: ResultLetter
  readonly isLitigator: boolean
  readonly country: Country
  /**
   * The days the number was put on the lists, or as of which the lists are where they keep none; absent
   * when it is not on one.
   */
  readonly nationalOn: LocalDay | undefined
  readonly state: { readonly region: string; readonly on: LocalDay } | undefined
  readonly isWireless: boolean
}

/** Letters for which nothing was looked up, or nothing further than the own list. */
const withoutReason: ReadonlySet<ResultLetter> = new Set(['M', 'I', 'B', 'P'])

/** `National (USA) 2026-01-31;State (TX) 2026-01-31;;W`; empty parts stay empty. */
export function reasonText(facts: ReasonFacts): string {
  // A national list that cannot be asked hides no litigator.
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
export function carrierText(carrier: OriginalCarrier | undefined, lineClass: LineClass): string {
  if (!carrier) return ''
  const name = carrier.company.replaceAll(/[";]/g, ' ').trim()
  return `${carrier.ocn};${carrierTypes[lineClass]};"${name}:${name}"`
}
