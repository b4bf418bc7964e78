/**
 * Finds the place of a US ZIP or Canadian postal code from packaged data and our own tables, without an
 * import. The calling hours decide what a postal code may be used for.
 */
import type { Place, PostalCodes } from '../../domain/place.js'
import { findRegionCountry, findRegionZones } from '../../law/area-codes.js'
import {
  canadianExceptions,
  militaryPostalCodes,
  provinceByLetter,
} from './canadian-postal-table.js'
import {
  correctedZips,
  disputedZips,
  stateExceptions,
  statePrefixes,
  zipsByCoordinates,
} from './zip-table.js'
import { findZipZone } from './zip-zones.js'

const zipPattern = /^(\d{5})(?:-?\d{4})?$/

/** `A1A 1A1` without D, F, I, O, Q and U, and without W or Z as the first letter (Canada Post guidelines). */
const canadianPattern = /^([ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z])[ -]?(\d[ABCEGHJ-NPRSTV-Z]\d)$/i

/**
 * Accepts `12345`, `12345-6789` and `A1A 1A1`, with or without the blank or hyphen, in any letter case.
 * Military mail of either country (AA, AE, AP; the post offices and ships of the Canadian Forces), Santa
 * Claus (H0H) and codes without a known state give no place. A ZIP that is in no table gives every zone
 * of its state.
 */
export function createPostalCodes(): PostalCodes {
  return {
    locate(postalCode) {
      const text = postalCode.trim()
      const zip = zipPattern.exec(text)?.[1]
      if (zip !== undefined) return locateZip(zip)
      const [, area, unit] = canadianPattern.exec(text) ?? []
      return area && unit ? locateCanadian(area.toUpperCase(), unit.toUpperCase()) : undefined
    },
  }
}

const stateOfPrefix = new Map(
  Object.entries(statePrefixes).flatMap(([state, ranges]) =>
    ranges.split(' ').flatMap((range) => prefixesIn(range).map((prefix) => [prefix, state])),
  ) as [string, string][],
)

function prefixesIn(range: string): string[] {
  const [first = '', last = first] = range.split('-')
  const count = Number(last) - Number(first) + 1
  return Array.from({ length: count }, (_, step) => String(Number(first) + step).padStart(3, '0'))
}

const disputedZipSet: ReadonlySet<string> = new Set(zipsIn(disputedZips))

const correctedZipZones: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(correctedZips).flatMap(([zones, zips]) =>
    zipsIn(zips).map((zip): [string, string[]] => [zip, zones.split(' ')]),
  ),
)

const coordinateZones: ReadonlyMap<string, string> = new Map(
  Object.entries(zipsByCoordinates).flatMap(([zone, zips]) =>
    zipsIn(zips).map((zip): [string, string] => [zip, zone]),
  ),
)

function zipsIn(text: string): string[] {
  return text.trim().split(/\s+/)
}

function findZipState(zip: string): string | undefined {
  return zip in stateExceptions ? stateExceptions[zip] : stateOfPrefix.get(zip.slice(0, 3))
}

function locateZip(zip: string): Place | undefined {
  const state = findZipState(zip)
  if (state === undefined) return undefined
  const known = disputedZipSet.has(zip) ? undefined : (findZipZone(zip) ?? coordinateZones.get(zip))
  return toPlace(state, correctedZipZones.get(zip) ?? (known ? [known] : findRegionZones(state)))
}

function locateCanadian(area: string, unit: string): Place | undefined {
  if (area === 'H0H' || militaryPostalCodes.has(area + unit)) return undefined
  const exception = canadianExceptions[area + unit] ?? canadianExceptions[area]
  if (exception) return toPlace(exception.region, exception.zones)
  const province = provinceByLetter[area.charAt(0)]
  return province && toPlace(province.region, province.zones)
}

function toPlace(region: string, zones: readonly string[]): Place | undefined {
  const country = findRegionCountry(region)
  if (!country) return undefined
  const candidates = zones.map((zone) => ({ region, zone }))
  return { country, candidates, source: 'postal-code' }
}
