/** What is asked of calls that are not for telemarketing: the table `purposes` of `calling-rules.yaml`. */
import { type CallPurpose, type PurposeRules, telemarketing } from '../domain/decision.js'
import type { LocalDay } from '../domain/time/clock.js'
import { type DayRange, isWithinDays } from '../domain/time/dates.js'
import type { WeekWindows } from '../domain/time/week-windows.js'
import type { LawRow } from './law-row.js'

interface PurposeRow extends LawRow {
  readonly hours?: WeekWindows | undefined
  /** Hours of single regions. */
  readonly regions: Readonly<Record<string, LawRow & { readonly hours: WeekWindows }>>
  readonly machines: PurposeRules['machines']
}

export type PurposesDocument = Readonly<Record<Exclude<CallPurpose, 'telemarketing'>, PurposeRow>>

interface PreparedPurpose {
  readonly rules: PurposeRules
  /** Absent if the hours, restricted days and bans of sales calls apply. */
  readonly hours?: PurposeHours | undefined
  readonly hoursByRegion: ReadonlyMap<string, PurposeHours>
}

interface PurposeHours extends DayRange {
  readonly week: WeekWindows
  readonly basis: CallPurpose
  readonly citation: string
}

export class Purposes {
  readonly #purposes: ReadonlyMap<CallPurpose, PreparedPurpose>

  constructor(document: PurposesDocument) {
    const entries = Object.entries(document) as [
      keyof PurposesDocument,
      PurposesDocument[keyof PurposesDocument],
    ][]
    this.#purposes = new Map(
      entries.map(([purpose, row]) => [purpose, preparePurpose(purpose, row)]),
    )
  }

  /** The same object each time. */
  find(purpose: CallPurpose): PurposeRules {
    return this.#purposes.get(purpose)?.rules ?? telemarketing
  }

  /**
   * The hours of a purpose in a region on a local day; `undefined` if those of sales calls apply, with their restricted days
   * and bans.
   */
  findHours(
    purpose: CallPurpose,
    { region, day }: { readonly region: string; readonly day: LocalDay },
  ): PurposeHours | undefined {
    const own = this.#purposes.get(purpose)
    if (!own?.hours || !isWithinDays(own.hours, day)) return undefined
    const ofRegion = own.hoursByRegion.get(region)
    return ofRegion && isWithinDays(ofRegion, day) ? ofRegion : own.hours
  }
}

function preparePurpose(
  purpose: CallPurpose,
  { hours, regions, machines, ...row }: PurposesDocument[keyof PurposesDocument],
): PreparedPurpose {
  const toHours = (one: DayRange & { readonly hours: WeekWindows; readonly citation: string }) => ({
    week: one.hours,
    basis: purpose,
    citation: one.citation,
    from: one.from,
    until: one.until,
  })
  return {
    rules: { purpose, machines },
    hours: hours && toHours({ ...row, hours }),
    hoursByRegion: new Map(Object.entries(regions).map(([code, one]) => [code, toHours(one)])),
  }
}
