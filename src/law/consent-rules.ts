/** State laws that require a consent for some calls, beyond the federal rules: rows of `calling-rules.yaml`, each for a region. */
import type { CallToConsent, RequiredConsent } from '../domain/consent/consent-records.js'
import type { CallKind, CallPurpose } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import { findAreaCodePlace, listAreaCodes } from './area-codes.js'
import { isInForceSomewhere } from './frequency-rules.js'
import type { NamedRow } from './law-row.js'

export interface ConsentRule extends RequiredConsent, NamedRow {
  /** It also applies to numbers with an area code of the region. */
  readonly numberCounts?: 'area-code' | undefined
  readonly callKinds: readonly CallKind[]
  readonly purposes: readonly CallPurpose[]
}

const noRules: readonly ConsentRule[] = []

/** The rules for a purpose. Most rules apply to few places. */
interface RulesOfPurpose {
  readonly byRegion: ReadonlyMap<string, readonly ConsentRule[]>
  /** Rules that also apply to numbers with an area code of the region. */
  readonly byAreaCode: ReadonlyMap<string, readonly ConsentRule[]>
  /** Rules for numbers without a known place. */
  readonly ofAreaCode: ReadonlyMap<string, readonly ConsentRule[]>
}

export class ConsentRules {
  /** Has only purposes with rules, since every decision looks here. */
  readonly #ofPurpose: ReadonlyMap<CallPurpose, RulesOfPurpose>

  constructor(rows: readonly ConsentRule[]) {
    const purposes = [...new Set(rows.flatMap((row) => row.purposes))]
    this.#ofPurpose = new Map(
      purposes.map((purpose) => [
        purpose,
        groupByPlace(rows.filter((row) => row.purposes.includes(purpose))),
      ]),
    )
  }

  /** Finds the rules for a call at an instant to a person who may be in any of the places. */
  find(call: CallToConsent, at: Instant): readonly RequiredConsent[] {
    const { callKind, purpose, number, places } = call
    const own = this.#ofPurpose.get(purpose)
    if (own === undefined) return noRules
    const areaCodes = places.length === 0 ? own.ofAreaCode : own.byAreaCode
    let found = areaCodes.get(number.slice(0, 3)) ?? noRules
    for (const { region } of places) {
      const ofRegion = own.byRegion.get(region)
      if (ofRegion !== undefined) found = [...new Set([...found, ...ofRegion])]
    }
    if (found.length === 0) return noRules
    return found.filter(
      (row) => row.callKinds.includes(callKind) && isInForceSomewhere(row, places, at),
    )
  }
}

function groupByPlace(rows: readonly ConsentRule[]): RulesOfPurpose {
  const isOfCode = (code: string, { region }: ConsentRule) =>
    findAreaCodePlace(code)?.candidates.some((place) => place.region === region) === true
  const byCode = (some: readonly ConsentRule[]) =>
    new Map(
      listAreaCodes().flatMap((code) => {
        const own = some.filter((row) => isOfCode(code, row))
        return own.length === 0 ? [] : [[code, own] as const]
      }),
    )
  const regions = [...new Set(rows.map(({ region }) => region))]
  return {
    byRegion: new Map(
      regions.map((region) => [region, rows.filter((row) => row.region === region)]),
    ),
    byAreaCode: byCode(rows.filter(({ numberCounts }) => numberCounts === 'area-code')),
    ofAreaCode: byCode(rows),
  }
}

/** Describes what a row requires, in one line. */
export function describeConsentRule({
  callKinds,
  purposes,
  lines,
  liftedBy,
  quote,
}: ConsentRule): string {
  const calls = `${callKinds.join(', ')} calls for ${purposes.join(' and ')}`
  const to = lines === undefined ? '' : ` to a ${lines.join(' or ')} number`
  const needed = liftedBy.length === 0 ? 'are banned' : `need ${liftedBy.join(' or ')}`
  return `${calls}${to} ${needed}: "${quote}"`
}
