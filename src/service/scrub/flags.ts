/**
 * The three `IsCallAllowed` flags of a scrub row (spec, "Scrub result row"). Pure. The conditions
 * of the AI flag are the spec's five checks; those of the other two are chosen so that the AI flag
 * implies both.
 */
import type { EbrType, ResultLetter, ScrubVerdict } from '../../domain/compliance.js'

export interface FlagFacts {
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

export function callFlags(facts: FlagFacts): ScrubVerdict['allowed'] {
  const { letter } = facts
  const timeAllows = facts.insideWindow && !facts.doNotCallToday
  const permission = facts.ebrType === 'P' && relatedLetters.has(letter)
  const manual = timeAllows && manualLetters.has(letter)
  const autodialed = manual && (landlineLetters.has(letter) || permission)
  return { manual, autodialed, ai: manual && permission && facts.insideVoiceWindow }
}
