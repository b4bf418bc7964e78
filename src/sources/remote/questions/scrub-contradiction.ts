/**
 * Finds scrub rows that contradict the specification or themselves. Such a row is not used, since one
 * of its fields is wrong and it is unknown which. For a letter that permits nothing, only what the
 * spec rules out is checked.
 */
import type { Question } from '../../../domain/compliance.js'
import type { ScrubRow } from '../../../domain/scrub-row.js'
import { parseCallingWindow, type RowHours } from './row-hours.js'

interface ContradictionContext {
  readonly question: Question
  readonly hours: RowHours | undefined
  /** The letter may permit a kind of call. */
  readonly mayPermit: boolean
}

/** The contradiction, with its rule; `undefined` without one. */
export function findScrubContradiction(
  row: ScrubRow,
  about: ContradictionContext,
): string | undefined {
  const found = row.allowed.ai ? findAiContradiction(row, about.hours) : undefined
  if (found !== undefined || !about.mayPermit) return found
  return (
    findMissingFlag(row) ??
    findRecordContradiction(row) ??
    findPlaceContradiction(row, about.question)
  )
}

/** `E`, `O`, `G`, `H`: "Consent is current (not expired, not superseded by a later opt-out)". */
function hasCurrentConsent({ letter }: ScrubRow): boolean {
  return letter === 'E' || letter === 'O' || letter === 'G' || letter === 'H'
}

/**
 * "`IsCallAllowedAI` is `1` only when every check below holds", and "`IsCallAllowedAI` = `1` implies
 * both are `1`" (spec, "Scrub result row").
 */
function findAiContradiction(row: ScrubRow, hours: RowHours | undefined): string | undefined {
  const { letter, ebrType, allowed, doNotCallToday, callingWindow } = row
  const because = (rule: string) => `IsCallAllowedAI is 1, but ${rule}`
  if (!allowed.manual || !allowed.autodialed) {
    return because('IsCallAllowedNonATDS or IsCallAllowedATDS is 0; it implies both')
  }
  if (ebrType !== 'P') return because('EBRType is not P')
  if (!hasCurrentConsent(row)) return because(`ResultCode is ${letter}, not E, O, G or H`)
  if (doNotCallToday !== false) return because('DoNotCallToday is not 0')
  // No place is more than 14 hours from UTC.
  if (Math.abs(row.utcOffsetMinutes ?? 0) > 840) return because('no place has this UTCOffset')
  // Without an offset the local time is unknown, but there must be a window.
  const outside = hours === undefined ? !parseCallingWindow(callingWindow) : !hours.isInside
  return outside ? because('the local time is not inside CallingWindow') : undefined
}

/** Flags may be empty only on rows that permit nothing; otherwise they are "`0` or `1`". */
function findMissingFlag({ doNotCallToday, isWirelessOrVoip }: ScrubRow): string | undefined {
  if (doNotCallToday === undefined) return 'DoNotCallToday is empty: must be 0 or 1'
  return isWirelessOrVoip === undefined ? 'IsWirelessOrVoIP is empty: must be 0 or 1' : undefined
}

/**
 * A letter for current consent requires a record on file, and so does permission to dial a wireless
 * number by machine: "A wireless number with no consent was observed with NonATDS `1`, ATDS `0`", and
 * only a record of type P is consent to that.
 */
function findRecordContradiction(row: ScrubRow): string | undefined {
  const { letter, ebrType, allowed, isWirelessOrVoip } = row
  if (hasCurrentConsent(row) && ebrType === '') {
    return `ResultCode is ${letter}, consent is current, but EBRType is empty`
  }
  if (allowed.autodialed && isWirelessOrVoip === true && ebrType !== 'P') {
    return 'IsCallAllowedATDS is 1 on a wireless or VoIP number, but EBRType is not P'
  }
  return undefined
}

/** "The postal code used"; empty when the requested one has no known place. */
function findPlaceContradiction(
  { postalCode }: ScrubRow,
  { postalCode: asked = '' }: Question,
): string | undefined {
  if (asked === '' || postalCode === '' || isSamePlace(asked, postalCode)) return undefined
  return 'PostalCode differs from the requested one'
}

/** The four digits that may follow a ZIP code do not change the place. */
function isSamePlace(one: string, other: string): boolean {
  const [mine, theirs] = [one, other].map((text) => {
    const plain = text.toUpperCase().replace(/[ -]/g, '')
    return /^\d{9}$/.test(plain) ? plain.slice(0, 5) : plain
  })
  return mine === theirs
}
