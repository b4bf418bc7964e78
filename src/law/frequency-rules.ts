/** The laws on how often a person may be called: rows of `calling-rules.yaml`, each for a region. */
import { type CallKind, type CallPurpose, callPurposes } from '../domain/decision.js'
import type { CallToCount, FrequencyLimit } from '../domain/mandate.js'
import type { CandidatePlace, Country } from '../domain/place.js'
import type { Instant } from '../domain/time/clock.js'
import { type DayRange, msPerDay, msPerHour, toUtcDay } from '../domain/time/dates.js'
import { toLocalTime } from '../domain/time/time-zones.js'
import { findAreaCodePlace, listAreaCodes } from './area-codes.js'
import type { NamedRow } from './law-row.js'

export interface FrequencyRule extends NamedRow {
  /** Either a region or a country. */
  readonly region?: string | undefined
  readonly country?: Country | undefined
  readonly purposes: readonly CallPurpose[]
  readonly callKinds?: readonly CallKind[] | undefined
  readonly calls: number
  /** Either hours or whole local days. */
  readonly hours?: number | undefined
  readonly days?: number | undefined
  readonly per: FrequencyLimit['per']
  readonly perSubject: boolean
  readonly counts: FrequencyLimit['counts']
  readonly liftedBy?: 'permission' | undefined
}

interface PreparedRule {
  readonly rule: FrequencyRule
  readonly limit: FrequencyLimit
}

const noRules: readonly PreparedRule[] = []
const noLimits: readonly FrequencyLimit[] = []

/** The rules for a purpose, most of which are for few places. */
interface RulesOfPurpose {
  readonly all: readonly PreparedRule[]
  readonly byRegion: ReadonlyMap<string, readonly PreparedRule[]>
  /** Florida and Oklahoma presume that a person with a number of theirs is there. */
  readonly byAreaCode: ReadonlyMap<string, readonly PreparedRule[]>
}

export class FrequencyRules {
  readonly #ofPurpose: ReadonlyMap<CallPurpose, RulesOfPurpose>

  /** `countries`: of every region. */
  constructor(rows: readonly FrequencyRule[], countries: ReadonlyMap<string, Country>) {
    const rules = rows.map(prepareRule)
    this.#ofPurpose = new Map(
      callPurposes.map((purpose) => {
        const own = rules.filter(({ rule }) => rule.purposes.includes(purpose))
        return [purpose, groupByPlace(own, countries)]
      }),
    )
  }

  /**
   * Those that count a call at an instant, to a person who may be in any of the places, or in one of the area code. All
   * of its purpose, if neither is known.
   */
  find(call: CallToCount, at: Instant): readonly FrequencyLimit[] {
    const { purpose, places, number } = call
    const own = this.#ofPurpose.get(purpose)
    if (own === undefined) return noLimits
    const { all, byRegion, byAreaCode } = own
    const ofAreaCode = byAreaCode.get(number.slice(0, 3))
    let found = places.length === 0 ? (ofAreaCode ?? all) : (ofAreaCode ?? noRules)
    for (const { region } of places) {
      const ofRegion = byRegion.get(region) ?? noRules
      if (ofRegion.length > 0) found = [...new Set([...found, ...ofRegion])]
    }
    if (found.length === 0) return noLimits
    return found.filter((one) => counts(one, call, at)).flatMap((one) => toLimits(one, places))
  }
}

function groupByPlace(
  all: readonly PreparedRule[],
  countries: ReadonlyMap<string, Country>,
): RulesOfPurpose {
  const isFor = ({ rule: { region, country } }: PreparedRule, code: string) =>
    region === undefined ? countries.get(code) === country : region === code
  const select = (codes: readonly string[]) => {
    const own = all.filter((one) => codes.some((code) => isFor(one, code)))
    return own.length === 0 ? noRules : own
  }
  const byRegion = new Map([...countries.keys()].map((code) => [code, select([code])]))
  const byAreaCode = new Map(
    listAreaCodes().map((code) => {
      const places = findAreaCodePlace(code)?.candidates ?? []
      return [code, select(places.map(({ region }) => region))]
    }),
  )
  return { all, byRegion, byAreaCode }
}

function counts(
  { rule }: PreparedRule,
  { callKind, hasPermission, places }: CallToCount,
  at: Instant,
): boolean {
  return (
    rule.callKinds?.includes(callKind) !== false &&
    !(hasPermission && rule.liftedBy === 'permission') &&
    isInForceSomewhere(rule, places, at)
  )
}

/** On the local day of any place where the person may be; where none is known, on that of any clock of the plan. */
export function isInForceSomewhere(
  { from, until }: DayRange,
  places: readonly CandidatePlace[],
  at: Instant,
): boolean {
  if (from === undefined && until === undefined) return true
  const days =
    places.length === 0
      ? [toUtcDay(at - maxBehindUtc), toUtcDay(at + maxAheadOfUtc)]
      : places.map(({ zone }) => toLocalTime(zone, at).day)
  return days.some((day) => day >= (from ?? day) && day <= (until ?? day))
}

/** American Samoa is behind UTC by 11 hours, Guam ahead by 10. */
const maxBehindUtc = 11 * msPerHour
const maxAheadOfUtc = 10 * msPerHour

/** A rule of whole days is one in each time zone where the person may be. */
function toLimits(
  { rule: { days }, limit }: PreparedRule,
  places: readonly CandidatePlace[],
): readonly FrequencyLimit[] {
  if (days === undefined || places.length === 0) return [limit]
  const zones = new Set(places.map(({ zone }) => zone))
  return [...zones].map((zone) => ({ ...limit, days: { count: days, zone } }))
}

function prepareRule(rule: FrequencyRule): PreparedRule {
  const { id, calls, hours, days, per, perSubject: isPerSubject, counts, citation } = rule
  const { purposes } = rule
  // Where no time zone is known, a day more than the days.
  const periodMs = hours === undefined ? ((days ?? 0) + 1) * msPerDay : hours * msPerHour
  return {
    rule,
    limit: { id, calls, periodMs, per, isPerSubject, counts, purposes, citation },
  }
}
