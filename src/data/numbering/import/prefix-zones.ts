/**
 * Finds the zones of a rate center's prefixes, once at import, by the name of the rate center: in a
 * table, which is complete for Canada, otherwise by the US places of that name. Only zones of the area
 * code are possible results, so a name that matches a wrong place is no worse than an unknown name.
 */
import type { Instant } from '../../../domain/time/clock.js'
import { msPerDay } from '../../../domain/time/dates.js'
import { getTimeZone } from '../../../domain/time/time-zones.js'
import { findCandidateZones } from '../../../law/area-codes.js'
import { findMatchingNames, normalizeName } from '../rate-center-name.js'
import type { NamedPlace, PlaceNames } from './place-names.js'
import { rateCenterZones } from './rate-center-zones.js'

export interface RateCenter {
  readonly areaCode: string
  /** Two-letter state, territory or province. */
  readonly region: string
  /** Name as in the report; empty if it gives none. */
  readonly name: string
}

export interface PrefixZones {
  /** The zones that the rate center may be in: one if it is certain, never empty for a known region. */
  findZones(rateCentre: RateCenter): readonly string[]
}

/** Zones keyed by region and name. */
const listedZones: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(rateCenterZones).flatMap(([region, byZones]) =>
    Object.entries(byZones).flatMap(([zones, names]) =>
      names
        .split(',')
        .map((name): [string, string[]] => [`${region} ${normalizeName(name)}`, zones.split(' ')]),
    ),
  ),
)

/** Zones whose offsets are equal throughout the year after `now` are treated as one. */
export function createPrefixZones(gazetteer: PlaceNames, now: Instant): PrefixZones {
  const answers = new Map<string, readonly string[]>()
  let last: { readonly of: RateCenter; readonly zones: readonly string[] } | undefined
  const regions = new Map<string, RegionPlaces>()
  const resolve = ({ areaCode, region, name }: RateCenter): readonly string[] => {
    const candidates = findCandidateZones(areaCode, region)
    if (candidates.length < 2 || name === '') return candidates
    const listed = listedZones.get(`${region} ${normalizeName(name)}`)
    if (listed) return listed
    let places = regions.get(region)
    if (!places) {
      places = new RegionPlaces(region, gazetteer.findPlaces(region), now)
      regions.set(region, places)
    }
    const settled = places.chooseZone(name, candidates)
    return settled === undefined ? candidates : [settled]
  }
  return {
    findZones(rateCentre) {
      // Consecutive rows of the reports often have the same rate center.
      if (last && isSameRateCenter(last.of, rateCentre)) return last.zones
      const key = `${rateCentre.areaCode} ${rateCentre.region} ${rateCentre.name}`
      const zones = answers.get(key) ?? resolve(rateCentre)
      answers.set(key, zones)
      last = { of: rateCentre, zones }
      return zones
    },
  }
}

function isSameRateCenter(one: RateCenter, other: RateCenter): boolean {
  return one.name === other.name && one.areaCode === other.areaCode && one.region === other.region
}

/** With at least this many places, a single one in another zone may be a namesake. */
const minPlaces = 5
const minMajority = 0.9

class RegionPlaces {
  readonly #region: string
  readonly #now: Instant
  readonly #names: ReadonlySet<string>
  readonly #places = new Map<string, NamedPlace[]>()

  constructor(region: string, places: readonly NamedPlace[], now: Instant) {
    this.#region = region
    this.#now = now
    for (const place of places) {
      const namesakes = this.#places.get(place.name)
      if (namesakes) namesakes.push(place)
      else this.#places.set(place.name, [place])
    }
    this.#names = new Set(this.#places.keys())
  }

  /** The candidate zone that the name identifies; `undefined` if it matches none or several. */
  chooseZone(name: string, candidates: readonly string[]): string | undefined {
    const found = findMatchingNames(this.#region, name, this.#names).flatMap(
      (match) => this.#places.get(match) ?? [],
    )
    const votes = new Map<string, number>()
    for (const place of found) {
      const clock = describeClock(place.zone, this.#now)
      votes.set(clock, (votes.get(clock) ?? 0) + 1)
    }
    const clear = [...votes].find(([, count]) => count >= found.length * minMajority)
    const clocks = found.length >= minPlaces && clear ? [clear[0]] : [...votes.keys()]
    const left = candidates.filter((candidate) =>
      clocks.includes(describeClock(candidate, this.#now)),
    )
    return left.length === 1 ? left[0] : undefined
  }
}
const clocks = new Map<string, string>()

/** The offsets of a zone twice a day over the coming year; equal for zones that need not be distinguished. */
function describeClock(zoneName: string, now: Instant): string {
  const key = `${zoneName} ${now}`
  const known = clocks.get(key)
  if (known !== undefined) return known
  const rules = getTimeZone(zoneName)
  const offsets = Array.from({ length: 730 }, (_, half) =>
    rules.offset(now + (half * msPerDay) / 2),
  )
  const clock = offsets.join()
  clocks.set(key, clock)
  return clock
}
