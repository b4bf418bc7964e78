/**
 * The row statuses of IsTimeLegalToCall that refuse an item before any window is looked at
 * (spec, "Calling hours", status rules), with messages that name the field, the value and the rule.
 */
import {
  formatDay,
  formatInstant,
  type Instant,
  isWithinYears,
  type LocalDay,
} from '../../domain/clock.js'
import type { LegalTime, LegalTimeStatus } from '../../domain/compliance.js'
import {
  areaCodeOf,
  asPhoneNumber,
  isTollFree,
  type PhoneNumber,
} from '../../domain/phone-number.js'
import type { NumberFacts } from '../../domain/place.js'
import type { ProjectHours } from '../../domain/week-windows.js'
import { describeProblem, shorten } from '../../errors.js'

/** One question of the calling hours about a number. The flags beyond the plain API are off when absent. */
export interface HoursItem {
  /** As received; anything but ten digits is INVALID_PHONE. */
  readonly phoneNumber: unknown
  /** The proposed instant; absent means now. */
  readonly at?: Instant | undefined
  readonly now: Instant
  /** As the request calls the date. */
  readonly dateField?: string | undefined
  /** The caller's finding that the project is unknown or not accessible: gives INVALID_PROJECT. */
  readonly projectFault?: string | undefined
  /** Calling hours of the project. Hand over the same array each time: windows are kept per array. */
  readonly overrides?: readonly ProjectHours[] | undefined
  readonly postalCode?: string | undefined
  readonly recordedVoice?: boolean | undefined
  readonly lawToo?: boolean | undefined
  /** Places of the postal code and of the number must all permit, and both must be known. */
  readonly strictestPlace?: boolean | undefined
}

export interface TimeLegalAnswer extends LegalTime {
  /** The next instant at which this answer may change; infinity when time does not change it. */
  readonly holdsUntil: Instant
}

export type ItemCheck =
  | { readonly number: PhoneNumber; readonly at: Instant }
  | { readonly refused: TimeLegalAnswer }

/**
 * What is wrong with an item by itself, in the order the spec lists the statuses: the phone, the
 * project, the date, then what the number turns out to be. One status per row: the first found.
 */
export function checkItem(item: HoursItem): ItemCheck {
  const { phoneNumber, at, now, projectFault } = item
  const number = typeof phoneNumber === 'string' ? asPhoneNumber(phoneNumber) : undefined
  if (number === undefined) {
    const value = phoneText(phoneNumber)
    const rule = `must be ${typeof phoneNumber === 'string' ? '' : 'text of '}exactly 10 digits`
    const problem = { field: 'PhoneNumber', value, rule }
    return { refused: refusal('INVALID_PHONE', describeProblem(problem)) }
  }
  if (projectFault !== undefined) return { refused: refusal('INVALID_PROJECT', projectFault) }
  const proposed = at ?? now
  const dateFault = faultOfDate(proposed, item)
  if (dateFault !== undefined) {
    return { refused: refusal('INVALID_DATE', dateFault, (dayOf(now) + 1) * 86_400_000) }
  }
  if (isTollFree(number)) return { refused: tollFree(number) }
  return { number, at: proposed }
}

/** The refusal of a number that has no place. */
export function refusedFacts(
  number: PhoneNumber,
  facts: Exclude<NumberFacts, { status: 'ok' }>,
): TimeLegalAnswer {
  if (facts.status === 'toll-free') return tollFree(number)
  return refusal('UNKNOWN_NXX', `PhoneNumber '${number}': ${facts.detail}`)
}

function tollFree(number: PhoneNumber): TimeLegalAnswer {
  const rule = `area code ${areaCodeOf(number)} is toll-free or reserved for it and has no place`
  return refusal('TOLL_FREE', describeProblem({ field: 'PhoneNumber', value: number, rule }))
}

function refusal(
  status: Exclude<LegalTimeStatus, 'OK'>,
  message: string,
  holdsUntil: Instant = Number.POSITIVE_INFINITY,
): TimeLegalAnswer {
  return {
    status,
    permitted: false,
    secondsLeft: 0,
    opensAt: undefined,
    rule: message,
    restrictedDay: undefined,
    placeSource: undefined,
    message,
    holdsUntil,
  }
}

function phoneText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : shorten(String(JSON.stringify(value)))
}

const usualDateField = 'CallProposedDateTimeInUTC'

function faultOfDate(
  at: Instant,
  { now, dateField: field = usualDateField }: HoursItem,
): string | undefined {
  if (isWithinYears(at, now, 50)) return undefined
  const value = Number.isFinite(at) ? safeInstantText(at) : String(at)
  const rule = `must be within 50 years of today, ${formatDay(dayOf(now))}`
  return describeProblem({ field, value, rule })
}

/** The farthest instant a calendar text exists for. */
const farthest = 8_640_000_000_000_000

function safeInstantText(at: Instant): string {
  return Math.abs(at) <= farthest ? formatInstant(at) : String(at)
}

function dayOf(at: Instant): LocalDay {
  return Math.floor(at / 86_400_000)
}
