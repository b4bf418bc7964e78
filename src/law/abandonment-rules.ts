/** The laws on abandoned calls: rows of `calling-rules.yaml`, each for a country. */
import type { AbandonmentCount, AbandonmentLimit } from '../domain/call-outcome.js'
import type { CallPurpose } from '../domain/decision.js'
import type { Country } from '../domain/place.js'
import type { Instant } from '../domain/time/clock.js'
import { msPerDay } from '../domain/time/dates.js'
import { findAreaCodePlace } from './area-codes.js'
import type { NamedRow } from './law-row.js'

export interface AbandonmentRule extends NamedRow {
  readonly country: Country
  readonly purposes: readonly CallPurpose[]
  readonly percent: number
  readonly warnPercent: number
  readonly minAnswered: number
  readonly connectSeconds: number
  readonly ringSeconds?: number | undefined
  /** The period in which calls are counted: these days, or the calendar month in the time zone `monthIn`. */
  readonly days?: number | undefined
  readonly monthIn?: string | undefined
}

interface PreparedRule {
  readonly country: Country
  readonly purposes: readonly CallPurpose[]
  readonly limit: AbandonmentLimit
  readonly from: Instant
  readonly until: Instant
}

const noLimits: readonly AbandonmentLimit[] = []

export class AbandonmentRules {
  /** In the order of their ids. */
  readonly limits: readonly AbandonmentLimit[]
  readonly #rules: readonly PreparedRule[]
  readonly #countries: ReadonlyMap<string, Country>

  /** `countries`: of every region. */
  constructor(rows: readonly AbandonmentRule[], countries: ReadonlyMap<string, Country>) {
    this.#rules = rows.map(prepareRule).sort((a, b) => (a.limit.id < b.limit.id ? -1 : 1))
    this.limits = this.#rules.map(({ limit }) => limit)
    this.#countries = countries
  }

  /**
   * Those that count a call at an instant to a person who may be in any of the places, or in one of the area code. All, if
   * neither is known.
   */
  find(
    {
      number,
      purpose,
      places,
    }: {
      readonly number: string
      readonly purpose: CallPurpose
      readonly places: readonly { readonly region: string }[]
    },
    at: Instant,
  ): readonly AbandonmentLimit[] {
    if (this.#rules.length === 0) return noLimits
    const countries = new Set(places.map(({ region }) => this.#countries.get(region)))
    countries.add(findAreaCodePlace(number.slice(0, 3))?.country)
    countries.delete(undefined)
    return this.#rules
      .filter(
        ({ country, purposes }) =>
          purposes.includes(purpose) && (countries.size === 0 || countries.has(country)),
      )
      .filter(({ from, until }) => from <= at && at < until)
      .map(({ limit }) => limit)
  }
}

function prepareRule(rule: AbandonmentRule): PreparedRule {
  const { id, country, days, monthIn = '', minAnswered, citation, from, until } = rule
  return {
    country,
    purposes: rule.purposes,
    limit: {
      ...{ id, minAnswered, citation },
      maxPercent: rule.percent,
      warnPercent: rule.warnPercent,
      connectWithinMs: rule.connectSeconds * 1_000,
      ringMs: rule.ringSeconds === undefined ? undefined : rule.ringSeconds * 1_000,
      period: days === undefined ? { monthIn } : { days },
    },
    from: from === undefined ? Number.NEGATIVE_INFINITY : from * msPerDay,
    until: until === undefined ? Number.POSITIVE_INFINITY : (until + 2) * msPerDay,
  }
}

/** `over`: the limit would be passed if the next answered call is abandoned. */
export type AbandonmentState = 'few' | 'within' | 'near' | 'over'

export function judgeAbandoned(
  { maxPercent, warnPercent, minAnswered }: AbandonmentLimit,
  { answered, abandoned }: Pick<AbandonmentCount, 'answered' | 'abandoned'>,
): AbandonmentState {
  if (answered < minAnswered) return 'few'
  if ((abandoned + 1) * 100 > maxPercent * (answered + 1)) return 'over'
  return abandoned * 100 >= warnPercent * answered ? 'near' : 'within'
}
