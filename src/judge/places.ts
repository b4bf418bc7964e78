/** Where the called person may be, by the finding on calling hours. */
import type { Finding } from '../domain/decision.js'
import type { CandidatePlace, Place } from '../domain/place.js'
import type { Instant, LocalDay } from '../domain/time/clock.js'
import { toLocalTime } from '../domain/time/time-zones.js'

export function findPlaces(findings: readonly Finding[]): readonly CandidatePlace[] {
  const { places = [], parts = [] } = findings.find(({ check }) => check === 'calling-hours') ?? {}
  return parts.length === 0 ? places : parts.flatMap((part) => part.places ?? [])
}

/** The places of a number and of its postal code. */
export function listPlaces(place: Place, postal: Place | undefined): readonly CandidatePlace[] {
  return postal ? [...place.candidates, ...postal.candidates] : place.candidates
}

/** A region where the called person may be, and the local day there. */
export interface RegionDay {
  readonly region: string
  readonly day: LocalDay
}

export function findRegionDays(findings: readonly Finding[], at: Instant): readonly RegionDay[] {
  return findPlaces(findings).map(({ region, zone }) => ({
    region,
    day: toLocalTime(zone, at).day,
  }))
}
