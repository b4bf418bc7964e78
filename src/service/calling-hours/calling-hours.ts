/**
 * Calling hours as the API and the gate ask for them: the legal time of a number, and the facts of
 * a scrub row about hours. Finds the places, then lets `window-judge.ts` decide.
 */
import type { CallingRules } from '../../data/calling-rules/calling-rules.js'
import type { CallTimes } from '../../domain/call-times.js'
import type { Instant, LocalDay } from '../../domain/clock.js'
import type {
  CandidatePlace,
  NumberFacts,
  NumberingPlan,
  Place,
  PlaceSource,
  PostalCodes,
} from '../../domain/place.js'
import {
  closedWeek,
  formatWeek,
  intersectWeeks,
  type ProjectHours,
  type WeekWindows,
} from '../../domain/week-windows.js'
import { instantOf, localTime } from '../../domain/zones.js'
import { type AppError, invalidRequest } from '../../errors.js'
import { hoursInForce, type WindowTerms } from './legal-window.js'
import {
  type CalledPlace,
  type Emergency,
  OperatorClosures,
  type ProclaimedDay,
} from './operator-closures.js'
import { checkItem, type HoursItem, refusedFacts, type TimeLegalAnswer } from './time-legal.js'
import { type DaySpan, type Judgement, WindowJudge } from './window-judge.js'

export interface CallingHoursInput {
  readonly rules: CallingRules
  readonly numberingPlan: NumberingPlan
  readonly postalCodes: PostalCodes
  readonly proclaimedDays: readonly ProclaimedDay[]
  readonly emergencies: readonly Emergency[]
}

/** Places that must all permit, and when. */
export interface HoursQuestion {
  readonly candidates: readonly CandidatePlace[]
  readonly at: Instant
  /** Calling hours of the project. Hand over the same array each time: windows are kept per array. */
  readonly overrides?: readonly ProjectHours[] | undefined
  /** The postal code by which the candidates were found, if they were. */
  readonly postalCode?: string | undefined
}

export interface JudgeQuestion extends HoursQuestion {
  readonly recordedVoice: boolean
  readonly lawToo: boolean
}

/** The status and message of IsTimeLegalToCall, with the times of an item that is `OK`. */
export interface CallTimesAnswer extends Pick<TimeLegalAnswer, 'status' | 'message'> {
  readonly times: readonly CallTimes[]
}

export type NumberFactsAnswer =
  | { readonly facts: Extract<NumberFacts, { status: 'ok' }>; readonly refused?: undefined }
  | { readonly refused: TimeLegalAnswer; readonly facts?: undefined }

const noOverrides: readonly ProjectHours[] = []

/** Windows to look through for one that may be used: some weeks of them. */
const mostSteps = 100

export class CallingHours {
  readonly #rules: CallingRules
  readonly #numberingPlan: NumberingPlan
  readonly #postalCodes: PostalCodes
  readonly #closures: OperatorClosures
  readonly #judge: WindowJudge

  /** Throws a `RangeError` for proclaimed days or emergencies that cannot be. */
  constructor(input: CallingHoursInput) {
    this.#rules = input.rules
    this.#numberingPlan = input.numberingPlan
    this.#postalCodes = input.postalCodes
    this.#closures = new OperatorClosures(input)
    this.#judge = new WindowJudge(input.rules, this.#closures)
  }

  /** Every candidate must permit. A zone that the packaged rules lack is a `RangeError`. */
  judge(question: JudgeQuestion): Judgement {
    const { candidates, at, postalCode, overrides = noOverrides, recordedVoice, lawToo } = question
    const places = found(candidates, postalCode)
    return this.#judge.judge(places, at, { overrides, recordedVoice, lawToo })
  }

  /**
   * The answer of one IsTimeLegalToCall item; never throws for what an item of the plain API can
   * hold. With `strictestPlace`, a postal code of unknown place is an `invalid-request`: no hours
   * are known to be lawful there.
   */
  timeLegal(item: HoursItem): TimeLegalAnswer {
    const checked = checkItem(item)
    if ('refused' in checked) return checked.refused
    const facts = this.#numberingPlan.lookup(checked.number)
    if (facts.status !== 'ok') return refusedFacts(checked.number, facts)
    const { places, source } = this.#placesOf(facts.place, item)
    const { overrides = noOverrides, recordedVoice = false, lawToo = false } = item
    const judgement = this.#judge.judge(places, checked.at, { overrides, recordedVoice, lawToo })
    const { permitted, secondsLeft, opensAt, rule, restrictedDay, holdsUntil } = judgement
    return {
      status: 'OK',
      permitted,
      secondsLeft,
      opensAt,
      rule,
      restrictedDay,
      placeSource: source,
      message: null,
      holdsUntil,
    }
  }

  /** The stretches of some local days in which one item may be called; never throws for an item. */
  callTimes(item: HoursItem, days: DaySpan): CallTimesAnswer {
    const checked = checkItem(item)
    if ('refused' in checked) return { ...checked.refused, times: [] }
    const facts = this.#numberingPlan.lookup(checked.number)
    if (facts.status !== 'ok') return { ...refusedFacts(checked.number, facts), times: [] }
    const { places } = this.#placesOf(facts.place, item)
    const terms = { ...plainTerms, overrides: item.overrides ?? noOverrides }
    return { status: 'OK', message: null, times: this.#judge.spans(places, days, terms) }
  }

  /** What the numbering plan knows of an item's number, or why it is refused. */
  factsOf(item: HoursItem): NumberFactsAnswer {
    const checked = checkItem(item)
    if ('refused' in checked) return { refused: checked.refused }
    const facts = this.#numberingPlan.lookup(checked.number)
    return facts.status === 'ok' ? { facts } : { refused: refusedFacts(checked.number, facts) }
  }

  /** The local day of an item's number at an instant, the earliest of its candidate places. */
  localDay(item: HoursItem, at: Instant): LocalDay | undefined {
    const { facts } = this.factsOf(item)
    if (!facts) return undefined
    return Math.min(...facts.place.candidates.map(({ zone }) => localTime(zone, at).day))
  }

  /**
   * `CallingWindow` of a scrub row: the week in force on the local day, for several candidates
   * what is common to them on the wall clock. Restricted days are in {@link doNotCallToday}.
   */
  callingWindowText(question: HoursQuestion): string {
    const weeks = question.candidates.map((place) => this.#weekOf(place, question))
    const [first = closedWeek, ...others] = weeks
    return formatWeek(others.reduce(intersectWeeks, first))
  }

  /**
   * `DoNotCallToday`: a restricted or proclaimed day at one of the candidates, or an emergency
   * there at the instant or later on its local day. Yes when there is no candidate.
   */
  doNotCallToday({ candidates, at, postalCode }: HoursQuestion): boolean {
    if (candidates.length === 0) return true
    return found(candidates, postalCode).some((place) => this.#isClosedToday(place, at))
  }

  /**
   * The first instant from the asked one on at which every place permits and no day is restricted;
   * absent when none is near.
   */
  callableFrom(question: HoursQuestion): Instant | undefined {
    let at: Instant | undefined = question.at
    for (let step = 0; at !== undefined && step < mostSteps; step += 1) {
      const there = { ...question, at }
      const judgement = this.judge({ ...there, recordedVoice: false, lawToo: false })
      if (judgement.permitted && !this.doNotCallToday(there)) return at
      at = judgement.permitted ? judgement.holdsUntil : judgement.opensAt
    }
    return undefined
  }

  /**
   * A postal code comes before the number; with the strictest place, beside it. One of unknown
   * place leaves the number's, except with the strictest place: see {@link timeLegal}.
   */
  #placesOf(
    ofNumber: Place,
    { postalCode, strictestPlace = false }: HoursItem,
  ): { places: readonly CalledPlace[]; source: PlaceSource } {
    const given = postalCode !== undefined && postalCode.trim() !== ''
    const postal = given ? this.#postalCodes.locate(postalCode) : undefined
    if (given && !postal && strictestPlace) throw unknownPlace(postalCode)
    if (!postal) return { places: ofNumber.candidates, source: ofNumber.source }
    const places = found(postal.candidates, postalCode)
    return {
      places: strictestPlace ? [...places, ...ofNumber.candidates] : places,
      source: postal.source,
    }
  }

  #weekOf(place: CandidatePlace, { at, overrides = noOverrides }: HoursQuestion): WeekWindows {
    const region = this.#rules.region(place.region)
    if (!region) return closedWeek
    const { day } = localTime(place.zone, at)
    return hoursInForce(this.#rules, { region, day }, { overrides, lawToo: false }).week
  }

  #isClosedToday(place: CalledPlace, at: Instant): boolean {
    const { day } = localTime(place.zone, at)
    if (this.#judge.windowOn(place, day, plainTerms).restrictedDay !== undefined) return true
    if (this.#closures.emergencyAt(place, at)) return true
    const next = this.#closures.nextEmergency(place, at)
    return next !== undefined && next.from < endOfDay(place, day)
  }
}

/** Such as mail of the armed forces (AA, AE, AP), which is delivered anywhere in the world. */
function unknownPlace(postalCode: string): AppError {
  const rule =
    'names no known place (codes of the armed forces never do), so the lawful hours are unknown; ' +
    'send the postal code of where the person is'
  return invalidRequest([{ field: 'postalCode', value: postalCode, rule }])
}

const plainTerms: WindowTerms = { overrides: noOverrides, recordedVoice: false, lawToo: false }

function endOfDay({ zone }: CandidatePlace, day: LocalDay): Instant {
  return instantOf(zone, day + 1, 0, 'later')
}

function found(
  candidates: readonly CandidatePlace[],
  postalCode: string | undefined,
): readonly CalledPlace[] {
  if (postalCode === undefined) return candidates
  return candidates.map(({ region, zone }) => ({ region, zone, postalCode }))
}
