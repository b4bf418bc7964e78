/**
 * Whether a call is lawful at an instant when every place the number may be in must permit it:
 * until when it is, or when it next will be. Where the number may be is decided by the caller.
 */
import type { CallingRules } from '../../data/calling-rules/calling-rules.js'
import type { CallTimes } from '../../domain/call-times.js'
import type { Instant, LocalDay } from '../../domain/clock.js'
import { instantOf, localTime } from '../../domain/zones.js'
import { type LegalWindow, legalWindow, type WindowTerms } from './legal-window.js'
import type { CalledPlace, OperatorClosures } from './operator-closures.js'

export interface Judgement {
  readonly permitted: boolean
  /** Whole seconds left in the window, the smallest of all places; 0 when not permitted. */
  readonly secondsLeft: number
  /** First instant from the asked one on at which every place permits; absent if over 60 days off. */
  readonly opensAt: Instant | undefined
  /** The rule that decided, for people: place, day, window, basis and citation. */
  readonly rule: string
  /** Name of the restricted day or emergency that closes the date at one of the places. */
  readonly restrictedDay: string | undefined
  /** The next instant at which this answer may change. */
  readonly holdsUntil: Instant
}

const daysAhead = 60
const horizon = daysAhead * 86_400_000
const mostWindowsKept = 20_000

/** A stretch in which one place permits calls, cut to the instants asked about. */
interface Span {
  readonly opensAt: Instant
  readonly closesAt: Instant
  readonly rule: string
}

export class WindowJudge {
  readonly #rules: CallingRules
  readonly #closures: OperatorClosures
  /** Per list of overrides, which callers hand over as the same array again and again. */
  #windows = new WeakMap<WindowTerms['overrides'], Map<string, LegalWindow>>()
  #kept = 0

  constructor(rules: CallingRules, closures: OperatorClosures) {
    this.#rules = rules
    this.#closures = closures
  }

  /** Every place must permit. No place at all is never a permission. */
  judge(places: readonly CalledPlace[], at: Instant, terms: WindowTerms): Judgement {
    let tightest: Span | undefined
    for (const place of places) {
      const span = this.#nextSpan(place, at, terms)
      if (!span || span.opensAt > at) return this.#refusal(places, at, terms)
      if (!tightest || span.closesAt < tightest.closesAt) tightest = span
    }
    if (!tightest) return noPlace
    const { closesAt, rule } = tightest
    return {
      permitted: true,
      secondsLeft: Math.floor((closesAt - at) / 1000),
      opensAt: at,
      rule: withPlaces(rule, places),
      restrictedDay: undefined,
      holdsUntil: closesAt,
    }
  }

  #refusal(places: readonly CalledPlace[], at: Instant, terms: WindowTerms): Judgement {
    const denials = places.flatMap((place) => this.#denial(place, at, terms))
    const deciding = denials.find(({ restrictedDay }) => restrictedDay !== undefined) ?? denials[0]
    const opensAt = this.#firstCommonOpening(places, at, terms)
    const midnight = Math.min(...places.map(({ zone }) => nextMidnight(zone, at)))
    return {
      permitted: false,
      secondsLeft: 0,
      opensAt,
      rule: withPlaces(deciding?.rule ?? '', places),
      restrictedDay: deciding?.restrictedDay,
      holdsUntil: Math.min(opensAt ?? midnight, midnight),
    }
  }

  /** Why a place does not permit the instant; nothing when it does. */
  #denial(
    place: CalledPlace,
    at: Instant,
    terms: WindowTerms,
  ): { rule: string; restrictedDay: string | undefined }[] {
    const window = this.windowOn(place, localTime(place.zone, at).day, terms)
    const emergency = this.#closures.emergencyAt(place, at)
    if (emergency) {
      const citation = emergency.citation ?? this.#rules.region(place.region)?.emergencyCitation
      const rule = `${place.region}, ${place.zone}: no calls during ${emergency.name}; `
      const grounds = `emergency rule: ${citation ?? 'closed by the operator'}`
      return [{ rule: rule + grounds, restrictedDay: emergency.name }]
    }
    return at < window.opensAt || at >= window.closesAt ? [window] : []
  }

  #firstCommonOpening(
    places: readonly CalledPlace[],
    at: Instant,
    terms: WindowTerms,
  ): Instant | undefined {
    for (let from = at; from <= at + horizon; ) {
      let latest = from
      for (const place of places) {
        const span = this.#nextSpan(place, from, terms)
        if (!span) return undefined
        if (span.opensAt > latest) latest = span.opensAt
      }
      if (latest === from) return from
      from = latest
    }
    return undefined
  }

  /** The first stretch from an instant on in which a place permits calls. */
  #nextSpan(place: CalledPlace, from: Instant, terms: WindowTerms): Span | undefined {
    const today = localTime(place.zone, from).day
    for (let day = today; day <= today + daysAhead; day++) {
      const window = this.windowOn(place, day, terms)
      if (window.closesAt <= from) continue
      const opensAt = this.#closures.endOfEmergency(place, Math.max(window.opensAt, from))
      if (opensAt >= window.closesAt) continue
      const emergency = this.#closures.nextEmergency(place, opensAt)
      const closesAt = Math.min(window.closesAt, emergency?.from ?? window.closesAt)
      return { opensAt, closesAt, rule: window.rule }
    }
    return undefined
  }

  /** Every stretch of some local days in which every place permits calls, in order. */
  spans(places: readonly CalledPlace[], days: DaySpan, terms: WindowTerms): readonly CallTimes[] {
    const [first = [], ...others] = places.map((place) => this.#spansAt(place, days, terms))
    return others.reduce(commonSpans, first)
  }

  #spansAt(place: CalledPlace, { from, count }: DaySpan, terms: WindowTerms): CallTimes[] {
    const spans: CallTimes[] = []
    for (let day = from; day < from + count; day += 1) {
      const { opensAt, closesAt } = this.windowOn(place, day, terms)
      for (let at = opensAt; at < closesAt; ) {
        const start = this.#closures.endOfEmergency(place, at)
        if (start >= closesAt) break
        const until = Math.min(
          closesAt,
          this.#closures.nextEmergency(place, start)?.from ?? closesAt,
        )
        spans.push({ from: start, until })
        at = until
      }
    }
    return spans
  }

  /** The window of a place on a local day, without emergencies. */
  windowOn(place: CalledPlace, day: LocalDay, terms: WindowTerms): LegalWindow {
    const windows = this.#windowsFor(terms.overrides)
    const flags = (terms.recordedVoice ? 2 : 0) + (terms.lawToo ? 1 : 0)
    const key = `${place.region}${flags}${day}${place.zone}`
    const known = windows.get(key)
    if (known) return known
    const proclaimed = this.#closures.proclaimed(place.region, day)
    const window = legalWindow({ rules: this.#rules, place, day, terms, proclaimed })
    windows.set(key, window)
    this.#kept++
    return window
  }

  #windowsFor(overrides: WindowTerms['overrides']): Map<string, LegalWindow> {
    if (this.#kept >= mostWindowsKept) {
      this.#windows = new WeakMap()
      this.#kept = 0
    }
    const known = this.#windows.get(overrides)
    if (known) return known
    const made = new Map<string, LegalWindow>()
    this.#windows.set(overrides, made)
    return made
  }
}

/** Local days, of each place by its own calendar. */
export interface DaySpan {
  readonly from: LocalDay
  readonly count: number
}

function commonSpans(one: readonly CallTimes[], other: readonly CallTimes[]): CallTimes[] {
  return one.flatMap((span) =>
    other
      .map(({ from, until }) => ({
        from: Math.max(span.from, from),
        until: Math.min(span.until, until),
      }))
      .filter(({ from, until }) => from < until),
  )
}

const noPlace: Judgement = {
  permitted: false,
  secondsLeft: 0,
  opensAt: undefined,
  rule: 'no place is known for the number',
  restrictedDay: undefined,
  holdsUntil: Number.POSITIVE_INFINITY,
}

function withPlaces(rule: string, places: readonly CalledPlace[]): string {
  return places.length === 1 ? rule : `${rule}; all ${places.length} possible places must permit`
}

function nextMidnight(zone: string, at: Instant): Instant {
  return instantOf(zone, localTime(zone, at).day + 1, 0, 'earlier')
}
