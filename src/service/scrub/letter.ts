/**
 * The result letter of a scrub row, from facts that are already gathered. Pure. What the lists and
 * records say, and where the number is, is found out elsewhere.
 */
import type { ResultLetter } from '../../domain/compliance.js'
import type { LineClass } from '../../domain/place.js'
import type { ScrubVersion } from '../../domain/scrub-row.js'

export interface LetterFacts {
  /** Not ten digits; area code or exchange not in use, toll-free included; or a number to judge. */
  readonly standing: 'malformed' | 'not-in-service' | 'in-service'
  /** A national list speaks for the area code, and so does every state list that is kept. */
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
export function letterOf(facts: LetterFacts): ResultLetter {
  if (facts.standing === 'malformed') return 'M'
  if (facts.standing === 'not-in-service') return 'I'
  if (!facts.listsCover) return 'B'
  if (facts.internalList === 'listed') return 'P'
  if (facts.isLitigator) return 'D'
  return grid[situationOf(facts)][lineKindOf(facts)]
}

function situationOf(facts: LetterFacts): Situation {
  const matched = facts.onNationalList || facts.onStateList
  if (facts.relationship === 'current') {
    return matched || facts.internalList === 'overridden' ? 'related-and-matched' : 'related'
  }
  if (matched) return facts.industryExemption ? 'exempt' : 'matched'
  return facts.relationship === 'expired' ? 'expired' : 'clean'
}

/** An unknown class counts as wireless: the stricter of the two. */
function lineKindOf({ lineClass, wirelessProhibited, voipRestricted }: LetterFacts): LineKind {
  if (lineClass === 'wireline') return 'landline'
  if (lineClass === 'voip') return wirelessProhibited && voipRestricted ? 'restricted' : 'voip'
  return wirelessProhibited ? 'restricted' : 'wireless'
}

/** Version 1 has no letter for the restricted states and none that joins records and wireless. */
const lettersOfVersion1: Partial<Record<ResultLetter, ResultLetter>> = {
  ...{ L: 'D', F: 'D', V: 'D' },
  ...{ G: 'E', H: 'O', Y: 'W' },
}

/** The letter as an older version shows it; version 2 has no letter for VoIP. */
export function letterForVersion(letter: ResultLetter, version: ScrubVersion): ResultLetter {
  if (version === 1) return lettersOfVersion1[letter] ?? letter
  return version === 2 && letter === 'Y' ? 'W' : letter
}
