/**
 * Evaluates whether a call is lawful at an instant, for how long, or when it next will be. Every
 * candidate place must permit it; the caller determines the candidates.
 */

import type { CallingPeriod } from '../../domain/calling-hours.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import type { WeekWindows } from '../../domain/time/week-windows.js'
import type { Said } from '../../domain/words/words.js'
import type { CallingRules } from '../calling-rules.js'
import {
  computeLegalWindow,
  findOverride,
  isLifted,
  type LegalWindow,
  type WindowOptions,
} from './legal-window.js'
import type { CalledPlace, Emergency, OperatorClosures } from './operator-closures.js'

export interface WindowEvaluation {
  readonly permitted: boolean
  /** Whole seconds left in the window, the smallest of all places; 0 when not permitted. */
  readonly secondsLeft: number
  /** First instant, from the given one on, at which every place permits; absent beyond 60 days. */
  readonly opensAt: Instant | undefined
  /** The deciding rule: place, day, window, legal basis and citation. */
  readonly says: readonly Said[]
  /** Name of the restricted day or emergency that closes the day in one of the places. */
  readonly restrictedDay: string | undefined
  /**
   * Whether the local day is restricted in one of the places, or an emergency there is in force at the
   * instant or starts later that day. True if no place is known.
   */
  readonly isDayClosed: boolean
  /** The next instant at which this result may change. */
  readonly holdsUntil: Instant
}

/** A range of local days, counted in each place's own calendar. */
export interface DaySpan {
  readonly from: LocalDay
  readonly count: number
}

const searchDays = 60
const searchMs = searchDays * msPerDay
/** Enough for some weeks of windows. */
const maxOpeningSteps = 100
const maxCachedWindows = 20_000

export class WindowEvaluator {
  readonly #rules: CallingRules
  readonly #closures: OperatorClosures
  /** By the values that a window depends on. */
  readonly #windows = new Map<string, LegalWindow>()

  constructor(rules: CallingRules, closures: OperatorClosures) {
    this.#rules = rules
    this.#closures = closures
  }

  /** Every place must permit. Without a place, a call is never permitted. */
  evaluate(places: readonly CalledPlace[], at: Instant, options: WindowOptions): WindowEvaluation {
    if (places.length === 0) return noPlaceEvaluation
    const windows = places.map((place) =>
      this.#findWindow(place, toLocalTime(place.zone, at).day, options),
    )
    let isDayClosed = false
    let permitted = true
    let closesAt = Number.POSITIVE_INFINITY
    let says: readonly Said[] = []
    for (const window of windows) {
      isDayClosed ||= window.restrictedDay !== undefined
      isDayClosed ||= window.emergencies.some((emergency) => endOf(emergency) > at)
      const period = window.periods.find(({ from, until }) => from <= at && at < until)
      permitted &&= period !== undefined
      if (period && period.until < closesAt) {
        closesAt = period.until
        says = window.says
      }
    }
    if (!permitted) return { ...this.#refuse(places, at, options), isDayClosed }
    return {
      permitted,
      secondsLeft: Math.floor((closesAt - at) / 1000),
      opensAt: at,
      says: withPlaces(says, places),
      restrictedDay: undefined,
      isDayClosed,
      holdsUntil: closesAt,
    }
  }

  #refuse(
    places: readonly CalledPlace[],
    at: Instant,
    options: WindowOptions,
  ): Omit<WindowEvaluation, 'isDayClosed'> {
    const denials = places.flatMap((place) => this.#findDenial(place, at, options))
    const deciding = denials.find(({ restrictedDay }) => restrictedDay !== undefined) ?? denials[0]
    const opensAt = this.#findCommonOpening(places, at, options)
    const midnight = Math.min(...places.map(({ zone }) => findNextMidnight(zone, at)))
    return {
      permitted: false,
      secondsLeft: 0,
      opensAt,
      says: withPlaces(deciding?.says ?? [], places),
      restrictedDay: deciding?.restrictedDay,
      holdsUntil: Math.min(opensAt ?? midnight, midnight),
    }
  }

  /** Why a place does not permit calls at the instant; empty when it does. */
  #findDenial(
    place: CalledPlace,
    at: Instant,
    options: WindowOptions,
  ): Pick<LegalWindow, 'says' | 'restrictedDay'>[] {
    const { day } = toLocalTime(place.zone, at)
    const window = this.#findWindow(place, day, options)
    const emergency = window.emergencies.find((one) => one.from <= at && at < endOf(one))
    if (emergency) {
      const citation = emergency.citation ?? this.#rules.findEmergencyCitation(place.region, day)
      const { region, zone } = place
      const params = { region, zone, name: emergency.name }
      const by: Said =
        citation === undefined
          ? { code: 'emergency-by-operator' }
          : { code: 'emergency-rule', params: { citation } }
      return [{ says: [{ code: 'emergency', params }, by], restrictedDay: emergency.name }]
    }
    return window.periods.some(({ from, until }) => from <= at && at < until) ? [] : [window]
  }

  #findCommonOpening(
    places: readonly CalledPlace[],
    at: Instant,
    options: WindowOptions,
  ): Instant | undefined {
    for (let from = at; from <= at + searchMs; ) {
      let latest = from
      for (const place of places) {
        const opensAt = this.#findOpening(place, from, options)
        if (opensAt === undefined) return undefined
        if (opensAt > latest) latest = opensAt
      }
      if (latest === from) return from
      from = latest
    }
    return undefined
  }

  /** The first instant from the given one on at which a place permits calls. */
  #findOpening(place: CalledPlace, from: Instant, options: WindowOptions): Instant | undefined {
    const today = toLocalTime(place.zone, from).day
    for (let day = today; day <= today + searchDays; day++) {
      const { periods } = this.#findWindow(place, day, options)
      const period = periods.find(({ until }) => until > from)
      if (period) return Math.max(period.from, from)
    }
    return undefined
  }

  /**
   * The first instant from the given one on at which every place permits calls and no day is closed; `undefined` if there is
   * none within the search limit.
   */
  findNextOpening(
    places: readonly CalledPlace[],
    from: Instant,
    options: WindowOptions,
  ): Instant | undefined {
    let at: Instant | undefined = from
    for (let step = 0; at !== undefined && step < maxOpeningSteps; step += 1) {
      const evaluation = this.evaluate(places, at, options)
      if (evaluation.permitted && !evaluation.isDayClosed) return at
      at = evaluation.permitted ? evaluation.holdsUntil : evaluation.opensAt
    }
    return undefined
  }

  /** The periods within the given local days in which every place permits calls, in order. */
  listPeriods(
    places: readonly CalledPlace[],
    { from, count }: DaySpan,
    options: WindowOptions,
  ): readonly CallingPeriod[] {
    const days = Array.from({ length: count }, (_, index) => from + index)
    const [first = [], ...others] = places.map((place) =>
      days.flatMap((day) => this.#findWindow(place, day, options).periods),
    )
    return others.reduce(intersectPeriods, first)
  }

  #findWindow(place: CalledPlace, day: LocalDay, options: WindowOptions): LegalWindow {
    const { region, zone } = place
    const override = findOverride(options.overrides, { region, day })
    const hours = override === undefined ? '' : formatSeconds(override)
    const flags =
      (options.recordedVoice ? 1 : 0) +
      (options.requireStatutoryWindow ? 2 : 0) +
      (isLifted(region, options.exceptions) ? 4 : 0)
    // Only emergencies depend on the postal code.
    const area = this.#closures.emergencies.has(region) ? (place.postalCode ?? '') : ''
    const key = `${region}${flags}${day}${zone} ${options.purpose ?? ''} ${hours} ${area}`
    const known = this.#windows.get(key)
    if (known) return known
    const [rules, closures] = [this.#rules, this.#closures]
    const window = computeLegalWindow({ rules, closures, place, day, options })
    if (this.#windows.size >= maxCachedWindows) this.#windows.clear()
    this.#windows.set(key, window)
    return window
  }
}

function formatSeconds({ monFri, sat, sun }: WeekWindows): string {
  return [monFri, sat, sun].map((window) => `${window?.start}-${window?.end}`).join()
}

function endOf({ until = Number.POSITIVE_INFINITY }: Emergency): Instant {
  return until
}

function intersectPeriods(
  periods: readonly CallingPeriod[],
  others: readonly CallingPeriod[],
): CallingPeriod[] {
  return periods.flatMap((period) =>
    others
      .map(({ from, until }) => ({
        from: Math.max(period.from, from),
        until: Math.min(period.until, until),
      }))
      .filter(({ from, until }) => from < until),
  )
}

const noPlaceEvaluation: WindowEvaluation = {
  permitted: false,
  secondsLeft: 0,
  opensAt: undefined,
  says: [{ code: 'no-place' }],
  restrictedDay: undefined,
  isDayClosed: true,
  holdsUntil: Number.POSITIVE_INFINITY,
}

function withPlaces(says: readonly Said[], places: readonly CalledPlace[]): readonly Said[] {
  if (places.length === 1) return says
  return [...says, { code: 'all-places', params: { places: places.length } }]
}

function findNextMidnight(zone: string, at: Instant): Instant {
  return toInstant(zone, toLocalTime(zone, at).day + 1, 0, 'earlier')
}
