/** A numbering plan and postal codes of a few entries, for tests that ask about places. */
import type {
  CandidatePlace,
  NumberFacts,
  NumberingPlan,
  PlaceSource,
  PostalCodes,
} from '../../src/domain/place.js'

const canadian = new Set(['AB', 'BC', 'MB', 'NB', 'NL', 'NS', 'NT', 'NU', 'ON', 'PE', 'QC', 'SK'])

/** `FL America/New_York` as a candidate place. */
export function candidate(text: string): CandidatePlace {
  const [region = '', zone = ''] = text.split(' ')
  return { region, zone }
}

function placeOf(candidates: readonly string[], source: PlaceSource) {
  const places = candidates.map(candidate)
  const country = canadian.has(places[0]?.region ?? '') ? ('CA' as const) : ('US' as const)
  return { country, candidates: places, source }
}

/** Places by area code; every other area code is unknown. */
export function fakeNumberingPlan(byAreaCode: Record<string, readonly string[]>): NumberingPlan {
  return {
    lookup(number): NumberFacts {
      const candidates = byAreaCode[number.slice(0, 3)]
      if (!candidates) {
        const params = { areaCode: number.slice(0, 3), asOf: undefined }
        const says = [{ code: 'not-an-exchange', params }] as const
        return { status: 'unknown-prefix', says, areaCodeInUse: false }
      }
      return {
        status: 'ok',
        place: placeOf(candidates, 'area-code'),
        locality: '',
        carrier: undefined,
        lineClass: 'unknown',
        originalClass: 'unknown',
      }
    },
    coverage() {
      const none = { mode: 'area-code', prefixes: 0, asOf: undefined } as const
      return { US: none, CA: none }
    },
  }
}

/** Places by exact postal code; every other code is unknown. */
export function fakePostalCodes(byCode: Record<string, readonly string[]>): PostalCodes {
  return {
    locate(postalCode) {
      const candidates = byCode[postalCode]
      return candidates && placeOf(candidates, 'postal-code')
    },
  }
}
