/**
 * Calling hours for the API and the gate: whether a number may be called at a time, and the calling
 * window in a scrub row. Finds the places; `law/hours/` then decides. An item that is refused
 * before that (spec, "Calling hours", status rules) gets a message with the field, value and rule.
 */
import type { CallingPeriod } from '../../domain/calling-hours.js'
import type { LegalTime, LegalTimeStatus } from '../../domain/compliance.js'
import {
  areaCodeOf,
  isTollFree,
  type PhoneNumber,
  parsePhoneNumber,
} from '../../domain/phone-number.js'
import type {
  CandidatePlace,
  NumberFacts,
  NumberingPlan,
  Place,
  PlaceSource,
  PostalCodes,
} from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import {
  formatDay,
  formatInstant,
  isWithinYears,
  msPerDay,
  toUtcDay,
} from '../../domain/time/dates.js'
import { toLocalTime } from '../../domain/time/time-zones.js'
import { formatWeek, type ProjectHours } from '../../domain/time/week-windows.js'
import { describeSaid } from '../../domain/words/words.js'
import { describeProblem, truncate } from '../../errors.js'
import type { CallingRules } from '../../law/calling-rules.js'
import { findCommonWeek, type WindowOptions } from '../../law/hours/legal-window.js'
import type { CalledPlace, EnteredClosures } from '../../law/hours/operator-closures.js'
import { type DaySpan, WindowEvaluator } from '../../law/hours/window-evaluator.js'
import { prepareClosures } from './prepare-closures.js'

export interface CallingHoursDeps extends EnteredClosures {
  readonly rules: CallingRules
  readonly numberingPlan: NumberingPlan
  readonly postalCodes: PostalCodes
}

/** The places that must all permit, and the instant. */
interface HoursQuestion {
  readonly candidates: readonly CandidatePlace[]
  readonly at: Instant
  /** Calling hours of the project. */
  readonly overrides?: readonly ProjectHours[] | undefined
}

/** One number and time to check. */
export interface HoursItem {
  /** As received; INVALID_PHONE unless it is ten digits. */
  readonly phoneNumber: unknown
  /** The proposed instant; absent means now. */
  readonly at?: Instant | undefined
  readonly now: Instant
  /** Name of the request's date field, for error messages. */
  readonly dateField?: string | undefined
  /** Why the caller cannot use the project; gives INVALID_PROJECT. */
  readonly projectFault?: string | undefined
  /** Calling hours of the project. */
  readonly overrides?: readonly ProjectHours[] | undefined
  readonly postalCode?: string | undefined
}

export interface TimeLegalResult extends LegalTime {
  /** The next instant at which this result may change; infinity if it does not depend on time. */
  readonly holdsUntil: Instant
}

/** The status and message of IsTimeLegalToCall, and the times of an item that is `OK`. */
export interface CallTimesResult extends Pick<TimeLegalResult, 'status' | 'message'> {
  readonly times: readonly CallingPeriod[]
}

export type NumberFactsResult =
  | { readonly facts: Extract<NumberFacts, { status: 'ok' }>; readonly refused?: undefined }
  | { readonly refused: TimeLegalResult; readonly facts?: undefined }

const noOverrides: readonly ProjectHours[] = []

export class CallingHours {
  readonly #rules: CallingRules
  readonly #numberingPlan: NumberingPlan
  readonly #postalCodes: PostalCodes
  /** Also for decisions, which find the places themselves. */
  readonly windows: WindowEvaluator

  /** Throws a `RangeError` for invalid proclaimed days or emergencies. */
  constructor(input: CallingHoursDeps) {
    this.#rules = input.rules
    this.#numberingPlan = input.numberingPlan
    this.#postalCodes = input.postalCodes
    this.windows = new WindowEvaluator(input.rules, prepareClosures(input.rules, input))
  }

  /** Evaluates one IsTimeLegalToCall item; a bad item gets a status instead of an error. */
  checkTimeLegal(item: HoursItem): TimeLegalResult {
    const checked = checkItem(item)
    if ('refused' in checked) return checked.refused
    const facts = this.#numberingPlan.lookup(checked.number)
    if (facts.status !== 'ok') return refuseUnplaced(checked.number, facts)
    const { places, source } = this.#findPlaces(facts.place, item)
    const { isDayClosed: _, ...evaluation } = this.windows.evaluate(
      places,
      checked.at,
      toOptions(item),
    )
    return { status: 'OK', placeSource: source, message: null, ...evaluation }
  }

  /** The periods in which one item may be called on the given local days; never throws for a bad item. */
  listCallTimes(item: HoursItem, days: DaySpan): CallTimesResult {
    const { facts, refused } = this.findNumberFacts(item)
    if (refused) return { ...refused, times: [] }
    const { places } = this.#findPlaces(facts.place, item)
    const times = this.windows.listPeriods(places, days, toOptions(item))
    return { status: 'OK', message: null, times }
  }

  /** The facts about an item's number, or why the item is refused. */
  findNumberFacts(item: HoursItem): NumberFactsResult {
    const checked = checkItem(item)
    if ('refused' in checked) return { refused: checked.refused }
    const facts = this.#numberingPlan.lookup(checked.number)
    return facts.status === 'ok' ? { facts } : { refused: refuseUnplaced(checked.number, facts) }
  }

  /** The local day of an item's number at an instant, the earliest of its candidate places. */
  findLocalDay(item: HoursItem, at: Instant): LocalDay | undefined {
    const { facts } = this.findNumberFacts(item)
    if (!facts) return undefined
    return Math.min(...facts.place.candidates.map(({ zone }) => toLocalTime(zone, at).day))
  }

  /**
   * `CallingWindow` of a scrub row: the weekly hours in force on the local day; for several candidates,
   * the intersection of their hours in local time. Restricted days are reported by `isDayClosed`.
   */
  formatCallingWindow({ candidates, at, overrides = noOverrides }: HoursQuestion): string {
    return formatWeek(findCommonWeek(this.#rules, candidates, at, overrides))
  }

  /** The place of the postal code replaces that of the number, if it is known. */
  #findPlaces(
    ofNumber: Place,
    { postalCode }: HoursItem,
  ): { places: readonly CalledPlace[]; source: PlaceSource } {
    const postal = postalCode?.trim() ? this.#postalCodes.locate(postalCode) : undefined
    if (!postal) return { places: ofNumber.candidates, source: ofNumber.source }
    const places = postal.candidates.map(({ region, zone }) => ({ region, zone, postalCode }))
    return { places, source: postal.source }
  }
}

function toOptions({ overrides = noOverrides }: Pick<HoursItem, 'overrides'>): WindowOptions {
  return { overrides, recordedVoice: false, requireStatutoryWindow: false }
}

/**
 * Validates an item before its place is looked up. The first problem determines the status, in the
 * order of the spec: phone, project, date, toll-free number.
 */
export function checkItem(
  item: HoursItem,
): { readonly number: PhoneNumber; readonly at: Instant } | { readonly refused: TimeLegalResult } {
  const { phoneNumber, at, now, projectFault } = item
  const number = typeof phoneNumber === 'string' ? parsePhoneNumber(phoneNumber) : undefined
  if (number === undefined) {
    const value = formatPhone(phoneNumber)
    const rule = `must be ${typeof phoneNumber === 'string' ? '' : 'text of '}exactly 10 digits`
    const problem = { field: 'PhoneNumber', value, rule }
    return { refused: createRefusal('INVALID_PHONE', describeProblem(problem)) }
  }
  if (projectFault !== undefined) return { refused: createRefusal('INVALID_PROJECT', projectFault) }
  const proposed = at ?? now
  const dateFault = findDateFault(proposed, item)
  if (dateFault !== undefined) {
    return { refused: createRefusal('INVALID_DATE', dateFault, (toUtcDay(now) + 1) * msPerDay) }
  }
  if (isTollFree(number)) return { refused: refuseTollFree(number) }
  return { number, at: proposed }
}

/** The refusal of a number without a place. */
function refuseUnplaced(
  number: PhoneNumber,
  facts: Exclude<NumberFacts, { status: 'ok' }>,
): TimeLegalResult {
  if (facts.status === 'toll-free') return refuseTollFree(number)
  const message = `PhoneNumber '${number}': ${describeSaid(facts.says)}`
  return { ...createRefusal('UNKNOWN_NXX', message), says: facts.says }
}

function refuseTollFree(number: PhoneNumber): TimeLegalResult {
  const rule = `area code ${areaCodeOf(number)} is toll-free or reserved for it and has no place`
  const message = describeProblem({ field: 'PhoneNumber', value: number, rule })
  return { ...createRefusal('TOLL_FREE', message), says: [{ code: 'toll-free' }] }
}

function createRefusal(
  status: Exclude<LegalTimeStatus, 'OK'>,
  message: string,
  holdsUntil: Instant = Number.POSITIVE_INFINITY,
): TimeLegalResult {
  return {
    status,
    permitted: false,
    secondsLeft: 0,
    opensAt: undefined,
    says: [{ code: 'hours-status', params: { status }, quote: message }],
    restrictedDay: undefined,
    placeSource: undefined,
    message,
    holdsUntil,
  }
}

function formatPhone(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : truncate(String(JSON.stringify(value)))
}

const defaultDateField = 'CallProposedDateTimeInUTC'

function findDateFault(
  at: Instant,
  { now, dateField: field = defaultDateField }: HoursItem,
): string | undefined {
  if (isWithinYears(at, now, 50)) return undefined
  const value = Number.isFinite(at) ? formatAnyInstant(at) : String(at)
  const rule = `must be within 50 years of today, ${formatDay(toUtcDay(now))}`
  return describeProblem({ field, value, rule })
}

/** The last instant that has a calendar date. */
const maxInstant = 8_640_000_000_000_000

function formatAnyInstant(at: Instant): string {
  return Math.abs(at) <= maxInstant ? formatInstant(at) : String(at)
}
