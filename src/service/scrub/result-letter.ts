/**
 * The result letter of a scrub row, from facts that are already gathered. Pure. What the lists and
 * records say, and where the number is, is found out elsewhere.
 *
 * The three `IsCallAllowed` flags of a scrub row (spec, "Scrub result row"). Pure. The conditions
 * of the AI flag are the spec's five checks; those of the other two are chosen so that the AI flag
 * implies both.
 *
 * The texts of a scrub row that clients take apart: `Reason` in four parts separated by semicolons
 * (national list, state list, telephone preference service, wireless mark) and `CarrierInfo`. Pure.
 */

import type { EbrType, ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { Country, LineClass, OriginalCarrier } from '../../domain/place.js'
import type { ScrubVersion } from '../../domain/scrub-row.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'

export interface ResultLetterInput {
  /** Not ten digits; area code or exchange not in use, toll-free included; or a number to judge. */
  readonly numberStatus: 'malformed' | 'not-in-service' | 'in-service'
  /** A national list covers the area code, and so does every state list that is kept. */
  readonly listsCover: boolean
  readonly onNationalList: boolean
  readonly onStateList: boolean
  readonly isLitigator: boolean
  /** `overridden`: on the internal list, and a newer current permission record lifts that. */
  readonly internalList: 'absent' | 'listed' | 'overridden'
  /** Sale, inquiry, permission or trial record, and whether it still holds. */
  readonly relationship: 'none' | 'expired' | 'current'
  readonly lineClass: LineClass
  /** A state the number may be in bars sales calls to wireless numbers. */
  readonly wirelessProhibited: boolean
  /** The project treats VoIP like wireless in those states. */
  readonly voipRestricted: boolean
  /** The project's industry exemption lifts matches of national and state lists. */
  readonly industryExemption: boolean
}

type LineKind = 'landline' | 'wireless' | 'restricted' | 'voip'
type Situation = 'clean' | 'expired' | 'matched' | 'exempt' | 'related' | 'related-and-matched'

/** Letters by situation and kind of line; the national subscription and own list come before. */
const grid: Readonly<Record<Situation, Readonly<Record<LineKind, ResultLetter>>>> = {
  clean: { landline: 'C', wireless: 'W', restricted: 'L', voip: 'Y' },
  expired: { landline: 'R', wireless: 'W', restricted: 'L', voip: 'Y' },
  matched: { landline: 'D', wireless: 'D', restricted: 'D', voip: 'D' },
  exempt: { landline: 'X', wireless: 'W', restricted: 'L', voip: 'Y' },
  related: { landline: 'E', wireless: 'G', restricted: 'F', voip: 'G' },
  'related-and-matched': { landline: 'O', wireless: 'H', restricted: 'V', voip: 'H' },
}

/** The letter of version 8, from which the letters of older versions follow. */
export function computeLetter(facts: ResultLetterInput): ResultLetter {
  if (facts.numberStatus === 'malformed') return 'M'
  if (facts.numberStatus === 'not-in-service') return 'I'
  if (!facts.listsCover) return 'B'
  if (facts.internalList === 'listed') return 'P'
  if (facts.isLitigator) return 'D'
  return grid[findSituation(facts)][findLineKind(facts)]
}

function findSituation(facts: ResultLetterInput): Situation {
  const matched = facts.onNationalList || facts.onStateList
  if (facts.relationship === 'current') {
    return matched || facts.internalList === 'overridden' ? 'related-and-matched' : 'related'
  }
  if (matched) return facts.industryExemption ? 'exempt' : 'matched'
  return facts.relationship === 'expired' ? 'expired' : 'clean'
}

/** An unknown class counts as wireless: the stricter of the two. */
function findLineKind({
  lineClass,
  wirelessProhibited,
  voipRestricted,
}: ResultLetterInput): LineKind {
  if (lineClass === 'wireline') return 'landline'
  if (lineClass === 'voip') return wirelessProhibited && voipRestricted ? 'restricted' : 'voip'
  return wirelessProhibited ? 'restricted' : 'wireless'
}

/** Version 1 has no letter for the restricted states and none that joins records and wireless. */
const lettersOfVersion1: Partial<Record<ResultLetter, ResultLetter>> = {
  L: 'D',
  F: 'D',
  V: 'D',
  G: 'E',
  H: 'O',
  Y: 'W',
}

/** The letter as an older version shows it; version 2 has no letter for VoIP. */
export function toVersionLetter(letter: ResultLetter, version: ScrubVersion): ResultLetter {
  if (version === 1) return lettersOfVersion1[letter] ?? letter
  return version === 2 && letter === 'Y' ? 'W' : letter
}

export interface CallFlagInput {
  /** As of version 8. */
  readonly letter: ResultLetter
  /** Type of the record on file; whether it still holds is told by the letter. */
  readonly ebrType: EbrType | ''
  /** A restricted day or declared emergency in one of the places the called party may be in. */
  readonly doNotCallToday: boolean
  /** The judged instant is inside the calling window of every such place. */
  readonly insideWindow: boolean
  /** As well as of the windows of recorded voices; true where they are not asked for. */
  readonly insideVoiceWindow: boolean
}

/** Known to permit a call that a person dials. Any other letter, known or not, permits none. */
const manualLetters: ReadonlySet<ResultLetter> = new Set([
  ...(['C', 'X', 'E', 'O', 'R'] as const),
  ...(['W', 'Y', 'G', 'H'] as const),
])

/** Landlines: a machine may dial them without a permission record. */
const landlineLetters: ReadonlySet<ResultLetter> = new Set(['C', 'X', 'E', 'O', 'R'])

/** A record is current and not superseded by a later opt-out. */
const relatedLetters: ReadonlySet<ResultLetter> = new Set(['E', 'O', 'G', 'H'])

export function computeCallFlags(facts: CallFlagInput): ScrubVerdict['allowed'] {
  const { letter } = facts
  const timeAllows = facts.insideWindow && !facts.doNotCallToday
  const permission = facts.ebrType === 'P' && relatedLetters.has(letter)
  const manual = timeAllows && manualLetters.has(letter)
  const autodialed = manual && (landlineLetters.has(letter) || permission)
  return { manual, autodialed, ai: manual && permission && facts.insideVoiceWindow }
}

/** The reasons without parts: clients look for these words. */
const litigatorReason = 'Litigator'

export const malformedReason = 'not a valid number'

export interface ReasonInput {
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
export function formatReason(facts: ReasonInput): string {
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
export function formatCarrier(carrier: OriginalCarrier | undefined, lineClass: LineClass): string {
  if (!carrier) return ''
  const name = carrier.company.replaceAll(/[";]/g, ' ').trim()
  return `${carrier.ocn};${carrierTypes[lineClass]};"${name}:${name}"`
}
