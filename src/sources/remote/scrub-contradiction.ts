/**
 * Rows of a scrub that contradict the specification or themselves. Such a row is not understood:
 * one of its fields is wrong, and nobody can say which. A letter that permits nothing needs no more
 * proof than itself, so only what the spec rules out is looked for there.
 */
import type { Question } from '../../domain/compliance.js'
import type { ScrubRow } from '../../domain/scrub-row.js'
import { parseWeek, type RowHours } from './row-hours.js'

interface About {
  readonly question: Question
  readonly hours: RowHours | undefined
  /** The letter may permit a kind of call. */
  readonly mayPermit: boolean
}

/** What contradicts what, with the rule; `undefined` when nothing does. */
export function scrubContradiction(row: ScrubRow, about: About): string | undefined {
  const found = row.allowed.ai ? aiContradiction(row, about.hours) : undefined
  if (found !== undefined || !about.mayPermit) return found
  return gap(row) ?? recordContradiction(row) ?? placeContradiction(row, about.question)
}

/** `E`, `O`, `G`, `H`: "Consent is current (not expired, not superseded by a later opt-out)". */
function isRelated({ letter }: ScrubRow): boolean {
  return letter === 'E' || letter === 'O' || letter === 'G' || letter === 'H'
}

/**
 * "`IsCallAllowedAI` is `1` only when every check below holds", and "`IsCallAllowedAI` = `1` implies
 * both are `1`" (spec, "Scrub result row").
 */
function aiContradiction(row: ScrubRow, hours: RowHours | undefined): string | undefined {
  const { letter, ebrType, allowed, doNotCallToday, callingWindow } = row
  const because = (rule: string) => `IsCallAllowedAI is 1, but ${rule}`
  if (!allowed.manual || !allowed.autodialed) {
    return because('IsCallAllowedNonATDS or IsCallAllowedATDS is 0; it implies both')
  }
  if (ebrType !== 'P') return because('EBRType is not P')
  if (!isRelated(row)) return because(`ResultCode is ${letter}, not E, O, G or H`)
  if (doNotCallToday !== false) return because('DoNotCallToday is not 0')
  // No place is farther than 14 hours from UTC; that far away the hour would not be known.
  if (Math.abs(row.utcOffsetMinutes ?? 0) > 840) return because('UTCOffset is of no place')
  // Without an offset the local time is not known, but some window there must be.
  const outside = hours === undefined ? !parseWeek(callingWindow) : !hours.inside
  return outside ? because('the local time is not inside CallingWindow') : undefined
}

/** Empty flags are seen on rows that permit nothing; elsewhere they are "`0` or `1`". */
function gap({ doNotCallToday, isWirelessOrVoip }: ScrubRow): string | undefined {
  if (doNotCallToday === undefined) return 'DoNotCallToday is empty: must be 0 or 1'
  return isWirelessOrVoip === undefined ? 'IsWirelessOrVoIP is empty: must be 0 or 1' : undefined
}

/**
 * A letter for current consent without a record on file, and a machine that may dial a wireless
 * number without one: "A wireless number with no consent was observed with NonATDS `1`, ATDS `0`",
 * and a permission is the only consent to that.
 */
function recordContradiction(row: ScrubRow): string | undefined {
  const { letter, ebrType, allowed, isWirelessOrVoip } = row
  if (isRelated(row) && ebrType === '') {
    return `ResultCode is ${letter}, consent is current, but EBRType is empty`
  }
  if (allowed.autodialed && isWirelessOrVoip === true && ebrType !== 'P') {
    return 'IsCallAllowedATDS is 1 on a wireless or VoIP number, but EBRType is not P'
  }
  return undefined
}

/** "The postal code used"; empty when the one asked could not be placed. */
function placeContradiction(
  { postalCode }: ScrubRow,
  { postalCode: asked = '' }: Question,
): string | undefined {
  if (asked === '' || postalCode === '' || samePlace(asked, postalCode)) return undefined
  return 'PostalCode is another than the one asked'
}

/** The four digits that may follow a ZIP code name no other place. */
function samePlace(one: string, other: string): boolean {
  const [mine, theirs] = [one, other].map((text) => {
    const plain = text.toUpperCase().replace(/[ -]/g, '')
    return /^\d{9}$/.test(plain) ? plain.slice(0, 5) : plain
  })
  return mine === theirs
}
