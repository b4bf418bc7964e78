/**
 * Calling hours for the API and the gate: whether a number may be called at a time, and the calling
 * window in a scrub row. Finds the places; `law/hours/` then decides. An item that is refused
 * before that (spec, "Calling hours", status rules) gets a message with the field, value and rule.
 */
import type { CallingPeriod } from '../../domain/calling-hours.js'
import type { HoursException, LegalTime, LegalTimeStatus } from '../../domain/compliance.js'
import type { CallPurpose } from '../../domain/decision.js'
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
import { describeSaid, type Said } from '../../domain/words/words.js'
import { type AppError, describeProblem, invalidRequest, truncate } from '../../errors.js'
import type { CallingRules } from '../../law/calling-rules.js'
import { findCommonWeek } from '../../law/hours/legal-window.js'
import type { CalledPlace, EnteredClosures } from '../../law/hours/operator-closures.js'
import {
  type DaySpan,
  type WindowEvaluation,
  WindowEvaluator,
} from '../../law/hours/window-evaluator.js'
import {
  type RecordedNumber,
  selectHours,
  toRecordedPlace,
  type UnusualFacts,
} from '../recorded-facts.js'
import { prepareClosures } from './prepare-closures.js'

export interface CallingHoursDeps extends EnteredClosures {
  readonly rules: CallingRules
  readonly numberingPlan: NumberingPlan
  readonly postalCodes: PostalCodes
}

/** The places that must all permit, and the instant. */
export interface HoursQuestion {
  readonly candidates: readonly CandidatePlace[]
  readonly at: Instant
  /** Calling hours of the project. */
  readonly overrides?: readonly ProjectHours[] | undefined
  /** The postal code that the candidates were found by, if any. */
  readonly postalCode?: string | undefined
  readonly recordedVoice?: boolean
  readonly requireStatutoryWindow?: boolean
}

/** One number and time to check. Flags that are not part of the published API default to off. */
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
  readonly recordedVoice?: boolean | undefined
  readonly requireStatutoryWindow?: boolean | undefined
  /** The places of the postal code and of the number must all permit, and both must be known. */
  readonly requireBothPlaces?: boolean | undefined
  /** Telemarketing when absent. */
  readonly purpose?: CallPurpose | undefined
  /** In whose regions the hours of the country hold in place of the region's own. */
  readonly exceptions?: readonly HoursException[] | undefined
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
  readonly #windows: WindowEvaluator

  /** Throws a `RangeError` for invalid proclaimed days or emergencies. */
  constructor(input: CallingHoursDeps) {
    this.#rules = input.rules
    this.#numberingPlan = input.numberingPlan
    this.#postalCodes = input.postalCodes
    this.#windows = new WindowEvaluator(input.rules, prepareClosures(input.rules, input))
  }

  /** Every candidate must permit. Throws a `RangeError` for a zone that the packaged rules lack. */
  evaluate(question: HoursQuestion): WindowEvaluation {
    const { places, options } = toPlaces(question)
    return this.#windows.evaluate(places, question.at, options)
  }

  /**
   * Evaluates one IsTimeLegalToCall item; a bad item gets a status instead of an error. Only
   * `requireBothPlaces` throws: `invalid-request` for a postal code without a known place, since its
   * lawful hours are unknown.
   */
  checkTimeLegal(item: HoursItem): TimeLegalResult {
    const checked = checkItem(item)
    if ('refused' in checked) return checked.refused
    const facts = this.#numberingPlan.lookup(checked.number)
    if (facts.status !== 'ok') return refuseUnplaced(checked.number, facts)
    const { places, source, postal } = this.#findPlaces(facts.place, item)
    const { overrides = noOverrides, recordedVoice = false, requireStatutoryWindow = false } = item
    const { purpose, exceptions } = item
    const options = { overrides, recordedVoice, requireStatutoryWindow, purpose, exceptions }
    const { isDayClosed, ...evaluation } = this.#windows.evaluate(places, checked.at, options)
    const hours = overrides.length > 0 ? selectHours(overrides, places) : undefined
    const isUsual = postal === undefined && hours === undefined
    const unusual = isUsual ? undefined : { postal: postal && toRecordedPlace(postal), hours }
    const recorded = formatFacts(facts, unusual)
    const says: readonly Said[] =
      item.postalCode?.trim() && !postal
        ? [...evaluation.says, { code: 'postal-code-unplaced' }]
        : evaluation.says
    return {
      status: 'OK',
      placeSource: source,
      message: null,
      places: postal ? [...facts.place.candidates, ...postal.candidates] : facts.place.candidates,
      facts: recorded,
      ...evaluation,
      says,
    }
  }

  /** The periods in which one item may be called on the given local days; never throws for a bad item. */
  listCallTimes(item: HoursItem, days: DaySpan): CallTimesResult {
    const { facts, refused } = this.findNumberFacts(item)
    if (refused) return { ...refused, times: [] }
    const { places } = this.#findPlaces(facts.place, item)
    const { overrides = noOverrides } = item
    const options = { overrides, recordedVoice: false, requireStatutoryWindow: false }
    return { status: 'OK', message: null, times: this.#windows.listPeriods(places, days, options) }
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

  /** See `WindowEvaluator.findNextOpening`. */
  findNextOpening(question: HoursQuestion): Instant | undefined {
    const { places, options } = toPlaces(question)
    return this.#windows.findNextOpening(places, question.at, options)
  }

  /**
   * The place of the postal code replaces that of the number; with `requireBothPlaces`, both apply. An
   * unknown postal code falls back to the number's place; with `requireBothPlaces`, it is an error.
   */
  #findPlaces(
    ofNumber: Place,
    { postalCode, requireBothPlaces = false }: HoursItem,
  ): { places: readonly CalledPlace[]; source: PlaceSource; postal?: Place } {
    const given = postalCode !== undefined && postalCode.trim() !== ''
    const postal = given ? this.#postalCodes.locate(postalCode) : undefined
    if (given && !postal && requireBothPlaces) throw placeNotFound(postalCode)
    if (!postal) return { places: ofNumber.candidates, source: ofNumber.source }
    const places = withPostalCode(postal.candidates, postalCode)
    return {
      places: requireBothPlaces ? [...places, ...ofNumber.candidates] : places,
      source: postal.source,
      postal,
    }
  }
}

/** The texts of numbers without unusual facts, which most are. */
const usualFacts = new WeakMap<NumberFacts, string>()

/** For the record of a decision, as JSON of {@link RecordedFacts}. */
export function formatFacts(
  facts: Extract<NumberFacts, { status: 'ok' }>,
  unusual: UnusualFacts | undefined,
): string {
  let text = usualFacts.get(facts)
  if (text === undefined) {
    const { place, lineClass, originalClass } = facts
    text = JSON.stringify({
      ...toRecordedPlace(place),
      by: place.source === 'prefix' ? undefined : place.source,
      line: lineClass === 'wireless' ? undefined : lineClass,
      assigned: originalClass === lineClass ? undefined : originalClass,
    } satisfies RecordedNumber)
    usualFacts.set(facts, text)
  }
  return unusual === undefined ? text : `${text.slice(0, -1)},${JSON.stringify(unusual).slice(1)}`
}

/** For example a military postal code (AA, AE, AP): its mail is delivered anywhere in the world. */
function placeNotFound(postalCode: string): AppError {
  const rule =
    'has no known place (military codes never have one), so the lawful hours are unknown; ' +
    'send the postal code of where the person is'
  return invalidRequest([{ field: 'postalCode', value: postalCode, rule }])
}

function toPlaces({
  candidates,
  postalCode,
  overrides = noOverrides,
  recordedVoice = false,
  requireStatutoryWindow = false,
}: HoursQuestion) {
  const options = { overrides, recordedVoice, requireStatutoryWindow }
  return { places: withPostalCode(candidates, postalCode), options }
}

function withPostalCode(
  candidates: readonly CandidatePlace[],
  postalCode: string | undefined,
): readonly CalledPlace[] {
  if (postalCode === undefined) return candidates
  return candidates.map(({ region, zone }) => ({ region, zone, postalCode }))
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
