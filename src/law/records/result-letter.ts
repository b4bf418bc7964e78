/**
 * The letter of a scrub row, and the three `IsCallAllowed` flags (spec, "Scrub result row"). The AI flag requires the spec's
 * five checks; the conditions of the other two are chosen so that the AI flag implies both.
 */
import type { CallRow, EbrType, ResultLetter } from '../../domain/compliance.js'
import type { LineClass } from '../../domain/place.js'
import type { ScrubVersion } from '../../domain/scrub-row.js'

export interface ResultLetterInput {
  /** Not ten digits; area code or exchange not in use, toll-free included; or a number to judge. */
  readonly numberStatus: 'malformed' | 'not-in-service' | 'in-service'
  /** A national list covers the area code, and so does every loaded state list. */
  readonly listsCover: boolean
  readonly onNationalList: boolean
  readonly onStateList: boolean
  readonly isLitigator: boolean
  /** `overridden`: on the internal list, but a newer, current permission record lifts the opt-out. */
  readonly internalList: 'absent' | 'listed' | 'overridden'
  /** Whether there is a sale, inquiry, permission or trial record, and whether it is still valid. */
  readonly relationship: 'none' | 'expired' | 'current'
  readonly lineClass: LineClass
  /** A state that the number may be in prohibits sales calls to wireless numbers. */
  readonly wirelessProhibited: boolean
  /** The project treats VoIP like wireless in those states. */
  readonly voipRestricted: boolean
  /** The project's industry exemption lifts matches of national and state lists. */
  readonly industryExemption: boolean
}

type LineKind = 'landline' | 'wireless' | 'restricted' | 'voip'
type Situation = 'clean' | 'expired' | 'matched' | 'exempt' | 'related' | 'related-and-matched'

/** Letters by situation and kind of line, for numbers that the earlier rules do not decide. */
const grid: Readonly<Record<Situation, Readonly<Record<LineKind, ResultLetter>>>> = {
  clean: { landline: 'C', wireless: 'W', restricted: 'L', voip: 'Y' },
  expired: { landline: 'R', wireless: 'W', restricted: 'L', voip: 'Y' },
  matched: { landline: 'D', wireless: 'D', restricted: 'D', voip: 'D' },
  exempt: { landline: 'X', wireless: 'W', restricted: 'L', voip: 'Y' },
  related: { landline: 'E', wireless: 'G', restricted: 'F', voip: 'G' },
  'related-and-matched': { landline: 'O', wireless: 'H', restricted: 'V', voip: 'H' },
}

/** The letter of version 8, from which those of older versions are derived. */
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

/** An unknown class is treated as wireless, which is stricter. */
function findLineKind({
  lineClass,
  wirelessProhibited,
  voipRestricted,
}: ResultLetterInput): LineKind {
  if (lineClass === 'wireline') return 'landline'
  if (lineClass === 'voip') return wirelessProhibited && voipRestricted ? 'restricted' : 'voip'
  return wirelessProhibited ? 'restricted' : 'wireless'
}

/** Version 1 has no letters for restricted states, and none for a record combined with wireless. */
const lettersOfVersion1: Partial<Record<ResultLetter, ResultLetter>> = {
  L: 'D',
  F: 'D',
  V: 'D',
  G: 'E',
  H: 'O',
  Y: 'W',
}

/** The letter in the given version; version 2 has none for VoIP. */
export function toVersionLetter(letter: ResultLetter, version: ScrubVersion): ResultLetter {
  if (version === 1) return lettersOfVersion1[letter] ?? letter
  return version === 2 && letter === 'Y' ? 'W' : letter
}

export interface CallFlagInput {
  /** The letter of version 8. */
  readonly letter: ResultLetter
  /** Type of the record on file; the letter shows whether it is still valid. */
  readonly ebrType: EbrType | ''
  /** A restricted day or declared emergency in one of the candidate places. */
  readonly doNotCallToday: boolean
  /** The instant is inside the calling window of every candidate place. */
  readonly insideWindow: boolean
  /** The instant is also inside the windows for recorded voices; true if those are not required. */
  readonly insideVoiceWindow: boolean
}

/** The letters that permit a manually dialed call. Any other letter, even an unknown one, permits no call. */
const manualLetters: ReadonlySet<ResultLetter> = new Set([
  'C',
  'X',
  'E',
  'O',
  'R',
  'W',
  'Y',
  'G',
  'H',
])

/** Letters of landlines, which may be autodialed without a permission record. */
const landlineLetters: ReadonlySet<ResultLetter> = new Set(['C', 'X', 'E', 'O', 'R'])

/** Letters of numbers with a record that is current and not ended by a later opt-out. */
const relatedLetters: ReadonlySet<ResultLetter> = new Set(['E', 'O', 'G', 'H'])

export function computeCallFlags(facts: CallFlagInput): CallRow['allowed'] {
  const { letter } = facts
  const timeAllows = facts.insideWindow && !facts.doNotCallToday
  const permission = facts.ebrType === 'P' && relatedLetters.has(letter)
  const manual = timeAllows && manualLetters.has(letter)
  const autodialed = manual && (landlineLetters.has(letter) || permission)
  return { manual, autodialed, ai: manual && permission && facts.insideVoiceWindow }
}
