/**
 * Facts about area codes: their kind, and for geographic codes every place that they serve. Exchanges,
 * and whether they are assigned, are in `data/numbering/numbering-plan.ts`.
 */
import type { CandidatePlace, Country, Place } from '../domain/place.js'
import {
  canadaRows,
  type GeographicRow,
  nonGeographic,
  otherCountryRows,
  tollFreeInService,
  usRows,
} from './area-code-table.js'

export type AreaCode =
  | { readonly kind: 'geographic'; readonly place: Place }
  | { readonly kind: 'toll-free' }
  | { readonly kind: 'non-geographic' }
  /** In service in another country of the numbering plan; `country` is a name for messages. */
  | { readonly kind: 'other-country'; readonly country: string }

const areaCodes = new Map<string, AreaCode>()
const regions = new Map<string, { readonly country: Country; readonly zones: readonly string[] }>()

for (const code of tollFreeInService.split(' ')) areaCodes.set(code, { kind: 'toll-free' })
for (const code of nonGeographic.split(' ')) areaCodes.set(code, { kind: 'non-geographic' })
for (const [country, codes] of otherCountryRows) {
  for (const code of codes.split(' ')) areaCodes.set(code, { kind: 'other-country', country })
}
addGeographic('US', usRows)
addGeographic('CA', canadaRows)

function addGeographic(country: Country, rows: readonly GeographicRow[]): void {
  const places = new Map<string, readonly CandidatePlace[]>()
  for (const [region, zones, codes] of rows) {
    const candidates = zones.map((zone) => ({ region, zone }))
    for (const code of codes.split(' ')) {
      places.set(code, [...(places.get(code) ?? []), ...candidates])
    }
    const known = regions.get(region)?.zones ?? []
    regions.set(region, { country, zones: [...new Set([...known, ...zones])] })
  }
  for (const [code, candidates] of places) {
    const place: Place = { country, candidates, source: 'area-code' }
    areaCodes.set(code, { kind: 'geographic', place })
  }
}

/** The facts about an area code; `undefined` if it is not in service. */
export function findAreaCode(code: string): AreaCode | undefined {
  return areaCodes.get(code)
}

/** The candidate places of a US or Canadian geographic code; `undefined` for any other. */
export function findAreaCodePlace(code: string): Place | undefined {
  const facts = areaCodes.get(code)
  return facts?.kind === 'geographic' ? facts.place : undefined
}

const geographicCodes: readonly string[] = [...areaCodes.keys()]
  .filter((code) => findAreaCodePlace(code) !== undefined)
  .sort((one, other) => Number(one) - Number(other))

/** The geographic area codes in service in the US and Canada, ascending. */
export function listAreaCodes(): readonly string[] {
  return geographicCodes
}

/** All IANA zones of a region's area codes; empty for an unknown region. */
export function findRegionZones(region: string): readonly string[] {
  return regions.get(region)?.zones ?? []
}

/** The country of a two-letter state, territory or province; `undefined` for any other text. */
export function findRegionCountry(region: string): Country | undefined {
  return regions.get(region)?.country
}

/**
 * The zones that a prefix of an area code in a region may be in. An exchange listed under another
 * region than its area code (a few along the Ottawa River) has the zones of the code; a code that is
 * not in the table yet has those of its region.
 */
export function findCandidateZones(code: string, region: string): readonly string[] {
  const place = findAreaCodePlace(code)
  if (!place) return findRegionZones(region)
  const inRegion = place.candidates.filter((candidate) => candidate.region === region)
  const chosen = inRegion.length > 0 ? inRegion : place.candidates
  return [...new Set(chosen.map((candidate) => candidate.zone))]
}
