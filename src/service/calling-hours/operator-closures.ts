/**
 * What an operator closes by configuration: days that a governor proclaims, and declared
 * emergencies. Neither has a feed; they are kept by hand.
 */
import type { CallingRules } from '../../data/calling-rules/calling-rules.js'
import { formatInstant, type Instant, type LocalDay, parseDay } from '../../domain/clock.js'
import type { CandidatePlace } from '../../domain/place.js'
import { describeProblem, type FieldProblem } from '../../errors.js'

/** A local day on which a region allows no calls. */
export interface ProclaimedDay {
  readonly region: string
  /** `YYYY-MM-DD` on the region's calendar. */
  readonly date: string
  readonly name: string
}

/** A ban in a region while a declared emergency lasts. */
export interface Emergency {
  readonly region: string
  readonly from: Instant
  /** The first instant after the emergency; absent while no end is known. */
  readonly until?: Instant | undefined
  /** Starts of postal codes that are concerned; absent or empty means the whole region. */
  readonly postalPrefixes?: readonly string[] | undefined
  readonly name: string
  /** Absent: the region's own emergency law is cited. */
  readonly citation?: string | undefined
}

/** A candidate place with the postal code by which it was found, if it was. */
export interface CalledPlace extends CandidatePlace {
  readonly postalCode?: string | undefined
}

export interface OperatorClosuresInput {
  readonly rules: CallingRules
  readonly proclaimedDays: readonly ProclaimedDay[]
  readonly emergencies: readonly Emergency[]
}

/** Throws a `RangeError` that lists every closure with an unknown region, a bad date or no time. */
export class OperatorClosures {
  readonly #days = new Map<string, Map<LocalDay, string>>()
  readonly #emergencies = new Map<string, Emergency[]>()

  constructor({ rules, proclaimedDays, emergencies }: OperatorClosuresInput) {
    const problems = [
      ...proclaimedDays.flatMap((day, index) => dayProblems(rules, day, index)),
      ...emergencies.flatMap((emergency, index) => emergencyProblems(rules, emergency, index)),
    ]
    if (problems.length > 0) throw new RangeError(problems.map(describeProblem).join('; '))
    for (const { region, date, name } of proclaimedDays) {
      const days = this.#days.get(region) ?? new Map<LocalDay, string>()
      this.#days.set(region, days.set(parseDay(date) ?? Number.NaN, name))
    }
    for (const emergency of emergencies) {
      const kept = this.#emergencies.get(emergency.region) ?? []
      this.#emergencies.set(emergency.region, [...kept, prepared(emergency)])
    }
  }

  /** Name of the proclaimed day. */
  proclaimed(region: string, day: LocalDay): string | undefined {
    return this.#days.get(region)?.get(day)
  }

  /** The emergency that bars calls to a place at an instant. */
  emergencyAt(place: CalledPlace, at: Instant): Emergency | undefined {
    return this.#concerning(place).find(
      ({ from, until = Number.POSITIVE_INFINITY }) => from <= at && at < until,
    )
  }

  /** The first instant from `at` on without an emergency; infinity when no end is known. */
  endOfEmergency(place: CalledPlace, at: Instant): Instant {
    let end = at
    for (let found = this.emergencyAt(place, end); found; found = this.emergencyAt(place, end)) {
      end = found.until ?? Number.POSITIVE_INFINITY
      if (end === Number.POSITIVE_INFINITY) return end
    }
    return end
  }

  /** The emergency that starts next after an instant. */
  nextEmergency(place: CalledPlace, after: Instant): Emergency | undefined {
    return this.#concerning(place)
      .filter(({ from }) => from > after)
      .reduce<Emergency | undefined>(
        (first, next) => (first && first.from <= next.from ? first : next),
        undefined,
      )
  }

  /** Without a postal code nobody knows where in the region, so every emergency in it counts. */
  #concerning({ region, postalCode }: CalledPlace): readonly Emergency[] {
    const all = this.#emergencies.get(region)
    if (!all) return none
    if (postalCode === undefined) return all
    const code = normalPostal(postalCode)
    return all.filter(({ postalPrefixes }) =>
      postalPrefixes ? postalPrefixes.some((prefix) => code.startsWith(prefix)) : true,
    )
  }
}

const none: readonly Emergency[] = []

function prepared(emergency: Emergency): Emergency {
  const prefixes = emergency.postalPrefixes?.map(normalPostal).filter((prefix) => prefix !== '')
  return { ...emergency, postalPrefixes: prefixes?.length ? prefixes : undefined }
}

function normalPostal(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}

function regionProblem(rules: CallingRules, field: string, value: string): FieldProblem[] {
  const rule = 'must be a region of the calling rules'
  return rules.region(value) ? [] : [{ field: `${field}.region`, value, rule }]
}

function dayProblems(rules: CallingRules, day: ProclaimedDay, index: number): FieldProblem[] {
  const field = `proclaimedDays.${index}`
  const rule = 'must be a date YYYY-MM-DD that exists'
  const exists = parseDay(day.date) !== undefined
  return [
    ...regionProblem(rules, field, day.region),
    ...(exists ? [] : [{ field: `${field}.date`, value: day.date, rule }]),
  ]
}

function emergencyProblems(rules: CallingRules, row: Emergency, index: number): FieldProblem[] {
  const field = `emergencies.${index}`
  const lasts = row.until === undefined || row.until > row.from
  const value = row.until === undefined ? '' : formatInstant(row.until)
  const rule = `must be after from, ${formatInstant(row.from)}`
  return [
    ...regionProblem(rules, field, row.region),
    ...(lasts ? [] : [{ field: `${field}.until`, value, rule }]),
  ]
}
