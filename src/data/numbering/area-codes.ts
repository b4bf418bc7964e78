/**
 * Facts of an area code: what it is for, and for a geographic code every place it may reach.
 * Exchanges, and which of them are assigned, are the business of `numbering-plan.ts`.
 */
import type { CandidatePlace, Country, Place } from '../../domain/place.js'
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
  /** In service in another country of the plan; `country` reads well inside a sentence. */
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

/** Facts of three digits; `undefined` when the code is not in service. */
export function findAreaCode(code: string): AreaCode | undefined {
  return areaCodes.get(code)
}

/** Every place a US or Canadian geographic code in service may reach; else `undefined`. */
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

/** Every zone (IANA) any area code of a region has; empty for letters that name no region. */
export function findRegionZones(region: string): readonly string[] {
  return regions.get(region)?.zones ?? []
}

/** The country of a two-letter state, territory or province; `undefined` for any other letters. */
export function findRegionCountry(region: string): Country | undefined {
  return regions.get(region)?.country
}

/**
 * The zones a prefix of an area code in a region may have. An exchange listed under another region
 * than its area code (a few along the Ottawa river) keeps the zones of the code; a code newer than
 * the table has those of its region.
 */
export function findCandidateZones(code: string, region: string): readonly string[] {
  const place = findAreaCodePlace(code)
  if (!place) return findRegionZones(region)
  const inRegion = place.candidates.filter((candidate) => candidate.region === region)
  const chosen = inRegion.length > 0 ? inRegion : place.candidates
  return [...new Set(chosen.map((candidate) => candidate.zone))]
}
