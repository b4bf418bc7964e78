/**
 * Closures entered in the configuration: days that a governor proclaims, and declared emergencies.
 * Neither has a feed, so operators enter them by hand.
 */
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatInstant, parseDay } from '../../domain/time/dates.js'
import { describeProblem, type FieldProblem } from '../../errors.js'
import type { CallingRules } from '../../law/calling-rules.js'

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
  /** Prefixes of the postal codes it applies to; absent or empty means the whole region. */
  readonly postalPrefixes?: readonly string[] | undefined
  readonly name: string
  /** If absent, the region's own emergency law is cited. */
  readonly citation?: string | undefined
}

/** A candidate place, with the postal code that it was found by, if any. */
export interface CalledPlace extends CandidatePlace {
  readonly postalCode?: string | undefined
}

export interface OperatorClosuresOptions {
  readonly rules: CallingRules
  readonly proclaimedDays: readonly ProclaimedDay[]
  readonly emergencies: readonly Emergency[]
}

export class OperatorClosures {
  /** By region. */
  readonly emergencies: ReadonlyMap<string, readonly Emergency[]>
  /** Names by region and day. */
  readonly #days: ReadonlyMap<string, string>

  /** Throws a `RangeError` that lists every closure with an unknown region, a bad date or no time. */
  constructor({ rules, proclaimedDays, emergencies }: OperatorClosuresOptions) {
    const problems = [
      ...proclaimedDays.flatMap((day, index) => dayProblems(rules, day, index)),
      ...emergencies.flatMap((emergency, index) => emergencyProblems(rules, emergency, index)),
    ]
    if (problems.length > 0) throw new RangeError(problems.map(describeProblem).join('; '))
    this.#days = new Map(
      proclaimedDays.map(({ region, date, name }) => [`${region} ${parseDay(date)}`, name]),
    )
    const byRegion = new Map<string, Emergency[]>()
    for (const emergency of emergencies.map(normalizeEmergency)) {
      const others = byRegion.get(emergency.region) ?? []
      byRegion.set(emergency.region, [...others, emergency])
    }
    this.emergencies = byRegion
  }

  /** The name of the day proclaimed in the region, if any. */
  findProclaimedDay(region: string, day: LocalDay): string | undefined {
    return this.#days.get(`${region} ${day}`)
  }

  /** Without a postal code, every emergency of the region applies, since the place may be anywhere in it. */
  listEmergencies({ region, postalCode }: CalledPlace): readonly Emergency[] {
    const all = this.emergencies.get(region) ?? []
    if (postalCode === undefined) return all
    const code = normalizePostalCode(postalCode)
    return all.filter(
      ({ postalPrefixes }) => postalPrefixes?.some((prefix) => code.startsWith(prefix)) ?? true,
    )
  }
}

function normalizeEmergency(emergency: Emergency): Emergency {
  const prefixes = emergency.postalPrefixes
    ?.map(normalizePostalCode)
    .filter((prefix) => prefix !== '')
  return { ...emergency, postalPrefixes: prefixes?.length ? prefixes : undefined }
}

function normalizePostalCode(text: string): string {
  return text.replace(/[\s-]/g, '').toUpperCase()
}

function regionProblem(rules: CallingRules, field: string, value: string): FieldProblem[] {
  const rule = 'must be a region of the calling rules'
  return rules.findRegion(value) ? [] : [{ field: `${field}.region`, value, rule }]
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
