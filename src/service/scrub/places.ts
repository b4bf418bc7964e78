/** The places that count for what is judged of a number beside its calling hours. Pure. */
import type { Instant } from '../../domain/clock.js'
import type { CandidatePlace, Place } from '../../domain/place.js'
import { instantOf, localTime } from '../../domain/zones.js'

/**
 * Lists, records and bans on calls to wireless numbers count for the place of the number and for
 * that of the postal code alike: a postal code moves the calling hours and lifts nothing.
 */
export function bothPlaces(place: Place, ofNumber: Place): readonly CandidatePlace[] {
  if (place === ofNumber) return place.candidates
  return [...place.candidates, ...ofNumber.candidates]
}

/** The first instant at which it is another day in one of the places. */
export function nextMidnight(places: readonly CandidatePlace[], at: Instant): Instant {
  let earliest = Number.POSITIVE_INFINITY
  for (const { zone } of places) {
    const midnight = instantOf(zone, localTime(zone, at).day + 1, 0, 'earlier')
    if (midnight < earliest) earliest = midnight
  }
  return earliest
}
