/** The laws on showing a number of a place where the caller is not: rows of `calling-rules.yaml`, each for a region. */
import type { Instant } from '../domain/time/clock.js'
import { msPerDay } from '../domain/time/dates.js'
import { findAreaCodePlace } from './area-codes.js'
import type { NamedRow } from './law-row.js'

export interface CallerIdRule extends NamedRow {
  readonly region: string
}

const isOfRegion = (number: string, region: string) =>
  findAreaCodePlace(number.slice(0, 3))?.candidates.some((place) => place.region === region) ===
  true

export class CallerIdRules {
  readonly #rows: readonly CallerIdRule[]

  constructor(rows: readonly CallerIdRule[]) {
    this.#rows = rows
  }

  /** The person may be in any of the places, or in one of the area code. */
  findPresenceLaw(
    shown: string,
    {
      number,
      places,
    }: { readonly number: string; readonly places: readonly { readonly region: string }[] },
    at: Instant,
  ): string | undefined {
    const law = this.#rows.find(({ region, from, until }) => {
      const isInForce =
        at >= (from ?? Number.NEGATIVE_INFINITY) * msPerDay &&
        at < ((until ?? Number.POSITIVE_INFINITY) + 2) * msPerDay
      const isThere = isOfRegion(number, region) || places.some((place) => place.region === region)
      return isInForce && isThere && isOfRegion(shown, region)
    })
    return law?.citation
  }
}
